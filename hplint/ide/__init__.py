"""What editors need: the language server, the schema of plan files, problem matchers."""
