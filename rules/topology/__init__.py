"""Rules about topology."""
