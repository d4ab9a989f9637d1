"""HPL103 merge-only-glob: a glob without a contract hits modules that have no boundary (R120)."""

from collections.abc import Iterator

from hplint.rule import (
    Case,
    Draft,
    Entry,
    Fault,
    Finding,
    Proposal,
    listing,
    narrowed,
    on_fault,
    patterns_of,
    plural,
    quote,
)

RULE = on_fault("HPL103", "merge-only-glob")

_CONTRACT = "params, in_src, in_dst, out_src, out_dst"


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        entry = case.entry(fault)
        glob = entry.match.value if entry and entry.match else ""
        modules = fault.data["modules"]
        message = (
            f"{quote(glob)} hits {plural(len(modules), 'module')} without a boundary ({_classes(case, modules)}): "
            f"{listing(modules)}; the entry declares no layouts to create one from, so the runtime refuses the plan"
        )
        fixes = _fixes(case, entry, modules) if entry else ()
        yield Finding(fault.span, message, help=_advice(case, fault), entry=entry, fixes=fixes)


def _classes(case: Case, modules: tuple[str, ...]) -> str:
    """How many modules of which class, most frequent first."""
    counts: dict[str, int] = {}
    for fqn in modules:
        module = case.tree.modules[fqn] if case.tree else None
        name = module.cls.short if module and module.cls else "unknown class"
        counts[name] = counts.get(name, 0) + 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = 5 if len(ranked) > 6 else 6
    rest = [f"{sum(n for _, n in ranked[shown:])} of other classes"] if ranked[shown:] else []
    return ", ".join([*(f"{n} {name}" for name, n in ranked[:shown]), *rest])


def _advice(case: Case, fault: Fault) -> str:
    if not case.topology.derive:
        return f"derivation is off, so every boundary must be declared here: {_CONTRACT}"
    hits = case.resolved.hits.get(fault.entry) if case.resolved and fault.entry is not None else None
    if hits and hits.merged:
        there = listing(hits.merged, most=3)
        return f"narrow the glob to modules that have a boundary ({there}), or declare {_CONTRACT}"
    return f"declare {_CONTRACT} for them, or match modules that have a boundary (`hplint plan show` lists these)"


def _fixes(case: Case, entry: Entry, modules: tuple[str, ...]) -> tuple[Proposal, ...]:
    """Where the glob hits boundaries too, these were probably meant: a draft for the rest comes second."""
    draft = Proposal(f"draft a contract for {plural(len(modules), 'module')}", (Draft(entry, modules),))
    hits = case.resolved.hits.get(entry.index) if case.resolved else None
    patterns = patterns_of(case, hits.merged) if hits else []
    alike = [e for e in case.plan.entries if e.match and entry.match and e.match.value == entry.match.value]
    changes = [narrowed(e, patterns) for e in alike]
    if not patterns or not all(changes):
        return (draft,)
    narrow = Proposal(f"narrow the glob to {listing(patterns)}", tuple(c for one in changes for c in one))
    return (narrow, draft)
