"""Hugging Face's ``tp_plan``s in Python, JSON and YAML texts."""
