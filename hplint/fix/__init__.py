"""From findings to edits of the text: proposals realised per dialect, applied, written."""
