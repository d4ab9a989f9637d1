"""Text with places: sources, spans, comments."""
