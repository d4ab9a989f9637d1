"""Which rules looked at everything that a file holds: only their silence means that there is nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from hplint.lint.registry import Registry
from hplint.lint.request import CheckedPlan
from hplint.lint.select import Selection
from hplint.plan.plan import Document

_TEXTUAL = ("files", "hygiene")
"""Groups of rules that need no model and no sizes."""
_PARTLY = ("syntax-error", "not-evaluated")
"""Faults that leave something unread."""


@dataclass(slots=True)
class Ran:
    """``whole``: all plans were read in full and met a model and a mesh. ``read``: they were read in full at least."""

    registry: Registry
    selection: Selection
    whole: bool
    read: bool

    def __call__(self, code: str) -> bool:
        """Whether the rule of a code ran, and saw all that it looks at."""
        rule = self.registry.rules.get(code)
        if rule is None or code not in self.selection:
            return False
        return self.whole or (self.read and rule.group in _TEXTUAL)


def what_ran(
    document: Document, plans: Sequence[CheckedPlan], sizes_known: bool, registry: Registry, selection: Selection
) -> Ran:
    """What became of the rules on one file."""
    faults = [*document.faults, *(f for p in document.plans for f in p.faults)]
    read = bool(document.plans) and not any(f.rule in _PARTLY for f in faults)
    whole = read and sizes_known and all(p.tree is not None for p in plans)
    return Ran(registry, selection, whole, read)
