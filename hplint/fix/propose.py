"""Proposals -> fixes: what rules propose becomes edits of the text, by dialect."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hplint.fix.edit import CannotRealise
from hplint.lint.diagnostic import Diagnostic, Edit, Fix
from hplint.lint.proposal import AddItem, Change, ChangeComment, Draft, Proposal, Remove, RemoveEntry, SetField
from hplint.lint.request import CheckedPlan, Run
from hplint.plan.plan import Plan
from hplint.plan.style import STYLE_DIALECTS
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from hplint.fix.yaml_style import PlanStyle


@dataclass(slots=True)
class Realiser:
    """Turns the proposals of one run into edits; every text is read once. ``plans`` are all plans of the run: a draft
    suits every topology of its plan."""

    plans: Sequence[CheckedPlan] = ()
    read: "dict[int, tuple[Plan, PlanStyle]]" = field(default_factory=dict)

    def edits(self, checked: CheckedPlan, proposal: Proposal) -> tuple[Edit, ...]:
        """The edits of a proposal for a plan, drafts worked out. Raises CannotRealise."""
        # Comments are the same in all dialects, and there may be no plan around them.
        comments = tuple(Edit(c.span, c.text) for c in proposal.changes if isinstance(c, ChangeComment))
        others = [c for c in proposal.changes if not isinstance(c, ChangeComment)]
        if not comments:
            return self._plan_edits(checked, others)
        return (*comments, *(self._plan_edits(checked, others) if others else ()))

    def _plan_edits(self, checked: CheckedPlan, asked: Sequence[Change]) -> tuple[Edit, ...]:
        plan = checked.plan
        changes = whole_entries(plan, self._expanded(checked, asked))
        faults = (*plan.faults, *(checked.resolved.faults if checked.resolved else ()))
        if plan.dialect == "python" or (plan.dialect in STYLE_DIALECTS and plan.source.path.endswith(".py")):
            from hplint.fix.python_edit import realise

            edits = realise(plan.source, plan, changes, faults)
        else:
            from hplint.fix.yaml_edit import realise_in

            edits = realise_in(self._read(plan), changes, faults)
        if not edits:
            raise CannotRealise("it changes nothing")
        return edits

    def fixes(self, checked: CheckedPlan, diagnostic: Diagnostic) -> tuple[Fix, ...]:
        """The fixes of a diagnostic, the best one first; proposals that cannot become edits are left out."""
        found = []
        for proposal in diagnostic.proposals:
            try:
                found.append(Fix(proposal.title, proposal.safe, self.edits(checked, proposal)))
            except CannotRealise:
                continue
        return tuple(found)

    def _read(self, plan: Plan) -> "PlanStyle":
        from hplint.fix.yaml_edit import read_plan

        known = self.read.get(id(plan))
        if known is None:
            known = self.read[id(plan)] = (plan, read_plan(plan.source, plan))
        return known[1]

    def _expanded(self, checked: CheckedPlan, changes: Sequence[Change]) -> list[Change]:
        expanded: list[Change] = []
        for change in changes:
            if isinstance(change, Draft):
                expanded += self._draft(checked, change)
            else:
                expanded.append(change)
        return expanded

    def _draft(self, checked: CheckedPlan, change: Draft) -> Sequence[Change]:
        from hplint.fix.draft import expand

        if checked.tree is None or checked.resolved is None:
            raise CannotRealise("a contract is drafted from the model, and none is known")
        others = [p.topology for p in self.plans if p.plan is checked.plan and p is not checked]
        return expand(change, checked.plan, checked.tree, checked.topology, checked.resolved, others, checked.targets)


def whole_entries(plan: Plan, changes: Sequence[Change]) -> Sequence[Change]:
    """The same changes, but entries of which nothing would be left besides ``match`` and ``when`` go as a whole."""
    removed = {c.span for c in changes if isinstance(c, Remove)}
    given = {c.entry.index for c in changes if isinstance(c, SetField | AddItem)}
    bare = [
        entry
        for entry in plan.entries
        if not removed.isdisjoint(entry.keys.values()) and entry.index not in given and not entry.broken
        and all(span in removed for field, span in entry.keys.items() if field not in ("match", "when"))
    ]  # fmt: skip
    spans = {span for entry in bare for span in entry.keys.values()}
    kept = [c for c in changes if not (isinstance(c, Remove) and c.span in spans)]
    return [*kept, *map(RemoveEntry, bare)] if bare else changes


def realise_all(run: Run) -> Run:
    """The same run with ``fixes`` filled in on every diagnostic that has proposals."""
    realiser = Realiser(run.plans)
    owners = Owners(run.plans)
    return replace(
        run,
        diagnostics=tuple(
            replace(d, fixes=realiser.fixes(owners.of(d), d)) if d.proposals else d for d in run.diagnostics
        ),
    )


class Owners:
    """Finds the plan that a diagnostic's proposals are about: the one that reported it."""

    def __init__(self, plans: Sequence[CheckedPlan]) -> None:
        self.plans = {self._key(d): p for p in reversed(plans) for d in p.diagnostics}

    def of(self, diagnostic: Diagnostic) -> CheckedPlan:
        """The plan; one without entries for diagnostics of the file itself."""
        source = diagnostic.source
        dialect = "python" if source.path.endswith(".py") else "yaml"
        return self.plans.get(self._key(diagnostic)) or CheckedPlan(source.path, Plan(source, dialect, ()), Topology())

    @staticmethod
    def _key(diagnostic: Diagnostic) -> tuple[object, ...]:
        return (id(diagnostic.source), diagnostic.code, diagnostic.span, diagnostic.message, diagnostic.field)
