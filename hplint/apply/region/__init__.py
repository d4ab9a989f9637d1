"""Boundaries on a live model: parameters cut, inputs and outputs laid out, the region between them run."""
