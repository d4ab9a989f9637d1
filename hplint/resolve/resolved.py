"""The resolved plan: what is left when every entry has been applied."""

from dataclasses import dataclass, field

from hplint.derive.boundary import Boundary
from hplint.plan.entry import Entry
from hplint.plan.fault import Fault


@dataclass(slots=True)
class Hits:
    """Where one entry landed: boundaries merged into, boundaries inserted, in module order."""

    merged: tuple[str, ...] = ()
    inserted: tuple[str, ...] = ()


@dataclass(slots=True)
class SetAside:
    """An entry that could not be applied at some or all of its modules, so that rules do not echo the fault.

    ``modules`` are the FQNs that the entry would probably have covered (near names; modules that a merge-only glob
    hit).
    """

    entry: Entry
    modules: tuple[str, ...]


@dataclass(slots=True)
class ResolvedPlan:
    """Boundaries by FQN after all active entries, plus what resolving found.

    ``hits`` is keyed by entry index; inactive entries (their ``when`` does not hold) are absent. ``special`` maps
    parameters that special handlers touch to the handler's name; ``tied`` are pairs of full parameter names.
    ``faults`` are worded by unknown-module, glob-matches-nothing, merge-only-glob, sentinel-on-insert,
    missing-contract, dropped-parameters and expert-region (data keys in merge.py and resolver.py).
    """

    boundaries: dict[str, Boundary]
    faults: tuple[Fault, ...] = ()
    hits: dict[int, Hits] = field(default_factory=dict)
    set_aside: tuple[SetAside, ...] = ()
    special: dict[str, str] = field(default_factory=dict)
    tied: tuple[tuple[str, str], ...] = ()
