"""From resolved plans to diagnostics."""
