"""hplint: a static analyzer for sharding plans."""

__version__ = "0.1.0"
