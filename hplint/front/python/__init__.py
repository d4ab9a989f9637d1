"""Python text, read statically: a machine follows what a file would build, and plans are found in that."""
