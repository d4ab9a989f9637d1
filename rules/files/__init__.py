"""Rules about reading the file."""
