"""Rules on the comments that steer hplint itself."""
