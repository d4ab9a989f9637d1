"""Plan x module tree x topology: what each entry does to which boundary."""
