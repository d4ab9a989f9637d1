"""Expert weights: how they are stored, and which per-expert weights are stacked into one."""

import re
from collections.abc import Sequence

_PER_EXPERT = re.compile(r"experts\.(\d+)\.([^.]+)\.weight")
BATCHED = frozenset(("gate_up_proj", "gate_and_up_projs", "down_proj", "down_projs", "gate_proj", "up_proj"))
"""Names of weights that hold all experts, expert dim first."""


def marked_experts(experts: Sequence[tuple[str, int]]) -> bool | None:
    """Whether experts, as (path from the boundary, number of dims), can go to the (edp, ep) mesh.

    True: stored one by one or batched under known names. False: under other names; they are marked, but the region
    stays a black box. None: a bias, or both ways of storing mixed; marking is skipped (R103, R104).
    """
    if not experts or any("bias" in path.lower() for path, _ in experts):
        return None
    singles = sum(1 for path, _ in experts if _PER_EXPERT.fullmatch(path))
    batched = sum(1 for path, dims in experts if _is_batched(path, dims))
    if singles and batched:
        return None
    return len(experts) in (singles, batched)


def _is_batched(path: str, dims: int) -> bool:
    return path.startswith("experts.") and path.removeprefix("experts.") in BATCHED and dims >= 3


def stacks(paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Stacked path -> the per-expert paths that go into it, by expert number."""
    found: dict[str, dict[int, str]] = {}
    for path in paths:
        if match := _PER_EXPERT.fullmatch(path):
            found.setdefault(f"experts.{match[2]}", {})[int(match[1])] = path
    return {name: tuple(parts[i] for i in sorted(parts)) for name, parts in found.items()}
