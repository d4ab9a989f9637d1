"""Meshes and what goes over them: axes, collectives, layouts, and transitions between layouts with their gradients."""
