"""Rules about axes and placements."""
