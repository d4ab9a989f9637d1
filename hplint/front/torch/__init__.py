"""Plans of PyTorch's ``parallelize_module`` in Python text."""
