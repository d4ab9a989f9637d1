"""From text to plans: one file per dialect over one set of value nodes."""
