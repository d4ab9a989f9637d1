"""What is left of the fixes of findings that are told as one: a token that a glob shares is right for some modules."""

from collections.abc import Collection
from dataclasses import replace

from hplint.lint.diagnostic import Finding
from hplint.lint.proposal import Proposal
from hplint.resolve.resolved import ResolvedPlan


def agreed(first: Finding, others: Collection[Finding], resolved: ResolvedPlan | None) -> tuple[Proposal, ...]:
    """The fixes of the first finding. They are safe only if all others propose them too, and if the entry lands nowhere
    but where it is found at fault."""
    if not any(p.safe for p in first.fixes):
        return first.fixes
    apart = _lands_elsewhere(first, {f.module for f in (first, *others) if f.module is not None}, resolved)
    return tuple(
        replace(p, safe=False) if p.safe and (apart or any(p not in f.fixes for f in others)) else p
        for p in first.fixes
    )  # fmt: skip


def _lands_elsewhere(finding: Finding, modules: set[str], resolved: ResolvedPlan | None) -> bool:
    """Whether the entry's field counts on boundaries that the finding does not name."""
    hits = resolved.hits.get(finding.entry.index) if resolved and finding.entry else None
    if not hits or not resolved or not modules:
        return False
    landed = {*hits.merged, *hits.inserted}
    if finding.field in (finding.entry.keys if finding.entry else ()):
        kept = (resolved.boundaries[fqn] for fqn in landed if fqn in resolved.boundaries)
        landed = {b.fqn for b in kept if b.origin.get(finding.field or "") is finding.entry}
    return modules < landed
