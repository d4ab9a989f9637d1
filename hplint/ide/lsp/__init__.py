"""The language server: what a check knows of a plan, while it is written."""
