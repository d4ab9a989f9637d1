"""Injected functions: found, checked, built, and put in the place of a forward."""
