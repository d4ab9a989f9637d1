"""What the framework itself hands to injected functions, and the decorators that register them."""

CONTEXT: dict[str, tuple[str, ...]] = {
    "local_compute_fn": ("mesh", "tp_mesh", "cp_mesh", "ep_mesh"),
    "inner_wrapper": ("target_module", "mesh", "tp_mesh", "cp_mesh", "ep_mesh"),
    "replace_module": ("module", "module_fqn", "context"),
}
"""Field -> the context parameters that its function must declare (R60, R80); the framework fills them in."""
OPTIONAL_CONTEXT: dict[str, tuple[str, ...]] = {"local_compute_fn": ("module",), "inner_wrapper": ("module",)}
"""Context parameters that a function may declare."""
MARK = {"local_compute_fn": "local_compute", "inner_wrapper": "inner_wrapper", "replace_module": "module_replacement"}
"""Field -> the decorator that its function carries (R55, R81, R82)."""
