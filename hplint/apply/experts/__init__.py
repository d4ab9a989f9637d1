"""Experts that are spread over ranks.

A plan names what it needs of this by one dotted path: ``_target_: hplint.apply.experts.expert_parallel``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hplint.apply.experts.parallel import expert_parallel as expert_parallel

__all__ = ["expert_parallel"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hplint.apply.experts import parallel

    return getattr(parallel, name)
