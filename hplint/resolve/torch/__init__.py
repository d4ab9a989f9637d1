"""How PyTorch matches the keys of ``parallelize_module`` plans, and what its styles do."""
