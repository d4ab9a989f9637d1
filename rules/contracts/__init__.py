"""Rules about contracts."""
