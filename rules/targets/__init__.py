"""Rules about injected functions."""
