"""What runs in place of the functions that HyperParallel ships, where HyperParallel is not installed."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hplint.apply.inject.target_import import TargetError
from hplint.targets.shipped import REGISTRY, ROOTS, SUFFIX
from hplint.text.near import near
from hplint.text.wording import listing, quote

_WRAPPERS = {
    name: ("hplint.apply.inject.wrappers", name)
    for name in ("sdpa_hf", "sdpa_qkv", "flex_hf", "flex_qkv", "sdpa_hf_ulysses", "sdpa_qkv_ulysses")
}
_COMPUTES = {
    name: ("hplint.apply.experts.parallel", name)
    for name in (
        "routed_only_ep_compute_fn",
        "mixtral_ep_compute_fn",
        "qwen2moe_ep_compute_fn",
        "qwen3moe_ep_compute_fn",
        "deepseekv3_ep_compute_fn",
    )
}
TABLE: dict[str, dict[str, tuple[str, str]]] = {
    "inner_wrapper": {name + SUFFIX: home for name, home in _WRAPPERS.items()},
    "local_compute_fn": _COMPUTES,
}
"""Field -> the last name of a shipped function -> the module and the function that keep the same contract here."""


def implementation(target: str, field: str, src: Sequence[str] = ()) -> Callable[..., Any] | None:
    """What runs for a registry name, or for a dotted path into HyperParallel where that is not installed; None for
    every other target. Raises TargetError (R96) for what has no equal here."""
    head, _, last = target.rpartition(".")
    if not head and ":" not in target and field == "inner_wrapper":
        return _load(_registered(target))
    if head.partition(".")[0] not in ROOTS or _installed(head.partition(".")[0], src):
        return None
    table = TABLE[field]
    if last not in table:
        runs = listing(sorted(table), "or")
        raise TargetError(f"belongs to HyperParallel, which is not installed, and has no equal here; {runs} would run")
    return _load(table[last])


def _registered(name: str) -> tuple[str, str]:
    if name in _WRAPPERS:
        return _WRAPPERS[name]
    runs = listing(_WRAPPERS, "or")
    if name in REGISTRY:
        raise TargetError("is a wrapper of HyperParallel that has no equal here", f"{runs} would run")
    close = near(name, REGISTRY)
    raise TargetError("is no wrapper", f"{quote(close[0])} is near" if close else f"{runs} would run")


def _load(home: tuple[str, str]) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(home[0]), home[1])
    return found


def _installed(root: str, src: Sequence[str]) -> bool:
    if root in sys.modules or any((Path(folder) / root).is_dir() for folder in src):
        return True
    try:
        return find_spec(root) is not None
    except (ImportError, ValueError):
        return False
