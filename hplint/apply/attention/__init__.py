"""Attention over a sequence that ranks share."""
