"""Proposals -> fixes: what rules propose becomes edits of the text, by dialect."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hplint.fix.edit import CannotRealise
from hplint.lint.diagnostic import Diagnostic, Edit, Fix
from hplint.lint.proposal import Change, Draft, Proposal
from hplint.lint.request import CheckedPlan, Run
from hplint.plan.plan import Plan
from hplint.text.source import Source

if TYPE_CHECKING:
    from hplint.fix.yaml_tree import YamlTree


@dataclass(slots=True)
class Realiser:
    """Turns the proposals of one run into edits; every text is read once."""

    trees: "dict[int, tuple[Source, YamlTree]]" = field(default_factory=dict)

    def edits(self, checked: CheckedPlan, proposal: Proposal) -> tuple[Edit, ...]:
        """The edits of a proposal for a plan, drafts worked out. Raises CannotRealise."""
        plan = checked.plan
        changes = self._expanded(checked, proposal.changes)
        if plan.dialect == "python":
            edits = _python(plan.source, plan, changes)
        else:
            from hplint.fix.yaml_edit import realise_in

            edits = realise_in(self._tree(plan.source), plan, changes)
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

    def _tree(self, source: Source) -> "YamlTree":
        from hplint.fix.yaml_edit import read_tree

        known = self.trees.get(id(source))
        if known is None:
            known = self.trees[id(source)] = (source, read_tree(source))
        return known[1]

    @staticmethod
    def _expanded(checked: CheckedPlan, changes: Sequence[Change]) -> list[Change]:
        expanded: list[Change] = []
        for change in changes:
            if isinstance(change, Draft):
                expanded += _draft(checked, change)
            else:
                expanded.append(change)
        return expanded


def _draft(checked: CheckedPlan, change: Draft) -> Sequence[Change]:
    try:
        from hplint.fix.draft import expand
    except ImportError:
        raise CannotRealise("drafts are not there yet") from None
    if checked.tree is None or checked.resolved is None:
        raise CannotRealise("a contract is drafted from the model, and none is known")
    return expand(change, checked.plan, checked.tree, checked.topology, checked.resolved)


def _python(source: Source, plan: Plan, changes: Sequence[Change]) -> tuple[Edit, ...]:
    try:
        from hplint.fix.python_edit import realise
    except ImportError:
        raise CannotRealise("Python plans cannot be edited yet") from None

    return realise(source, plan, changes)


def realise_all(run: Run) -> Run:
    """The same run with ``fixes`` filled in on every diagnostic that has proposals."""
    realiser = Realiser()
    plans = _plans_of(run.plans)

    def filled(diagnostic: Diagnostic) -> Diagnostic:
        if not diagnostic.proposals:
            return diagnostic
        checked = plans(diagnostic)
        return replace(diagnostic, fixes=realiser.fixes(checked, diagnostic)) if checked else diagnostic

    return replace(run, diagnostics=tuple(filled(d) for d in run.diagnostics))


def _plans_of(plans: Sequence[CheckedPlan]) -> "Callable[[Diagnostic], CheckedPlan | None]":
    """Finds the plan that a diagnostic's proposals are about: the one that reported it."""
    owners: Mapping[int, CheckedPlan] = {id(d.proposals): p for p in reversed(plans) for d in p.diagnostics}
    return lambda diagnostic: owners.get(id(diagnostic.proposals))
