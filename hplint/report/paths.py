"""Paths as services want them: from the top folder of a checkout, not from where hplint ran."""

import os
from pathlib import Path


def from_top(path: str, top: str | None) -> str:
    """A path as given, made relative to ``top``, joined with ``/``; as given where ``top`` is unknown or elsewhere."""
    if not top or path == "-":
        return path
    # Not resolved: a link inside the checkout keeps its own name there.
    full = Path(os.path.abspath(path))  # noqa: PTH100
    try:
        return full.relative_to(os.path.abspath(top)).as_posix()  # noqa: PTH100
    except ValueError:
        return path
