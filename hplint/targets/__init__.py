"""Injected functions, found and read as source; nothing is imported."""
