"""Boundaries that exist before any override."""
