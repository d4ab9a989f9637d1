"""Which of several plans is to be applied."""

from collections.abc import Sequence

from hplint.errors import RequestError
from hplint.plan.plan import Plan
from hplint.text.near import near
from hplint.text.wording import listing, plural, quote


def choose_plan(plans: Sequence[Plan], wanted: str | None, path: str) -> Plan:
    """The one plan of a file, or that of the name or number (counted from 1) that is wanted. Raises RequestError, which
    lists the plans, where that is none or several: runs of the same code in which conditions go other ways have one
    name."""
    named = [p for p in plans if wanted is None or wanted == p.name]
    if wanted is not None and not named and wanted.isdecimal() and 0 < int(wanted) <= len(plans):
        named = [plans[int(wanted) - 1]]
    if len(named) == 1:
        return named[0]
    if not plans:
        raise RequestError(f"{path}: no plan")
    told = "; ".join(f"{number}: {_told(p)}" for number, p in enumerate(plans, 1))
    if wanted is None or named:
        several = f"{quote(path)} holds {plural(len(plans), 'plan')}"
        what = f"{several}, {len(named)} of them called {quote(wanted)}" if wanted else several
        raise RequestError(f"one plan is applied; {what}", f"choose one by its number with --plan ({told})")
    names = near(wanted, {p.name for p in plans if p.name})
    hint = f"did you mean {listing(names, 'or')}? " if names else ""
    raise RequestError(f"{quote(path)} holds no plan {quote(wanted)}", f"{hint}There are {told}")


def _told(plan: Plan) -> str:
    line = plan.source.position(plan.anchor.start).line
    name = f"{plan.name} " if plan.name else ""
    return f"{name}of line {line}, {plural(plan.size, 'entry', 'entries')}"
