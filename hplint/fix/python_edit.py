"""Changes of a Python plan as edits of its text."""

from collections.abc import Sequence

from hplint.fix.edit import CannotRealise
from hplint.lint.diagnostic import Edit
from hplint.lint.proposal import Change
from hplint.plan.plan import Plan
from hplint.text.source import Source


def realise(source: Source, plan: Plan, changes: Sequence[Change]) -> tuple[Edit, ...]:
    """The edits that make these changes. Raises CannotRealise: Python plans are reported on, not rewritten yet."""
    raise CannotRealise("Python plans are not rewritten yet")
