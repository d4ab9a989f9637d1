"""The engine: one plan, one model, one topology -> diagnostics."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hplint.derive.boundary import Boundary
from hplint.lint.agreed import agreed
from hplint.lint.case import Case
from hplint.lint.diagnostic import SEVERITIES, Diagnostic, Finding, Related
from hplint.lint.registry import Registry, RuleEntry
from hplint.lint.select import Selection
from hplint.model.tree import ModuleTree
from hplint.plan.entry import INJECTION_FIELDS
from hplint.plan.fault import Fault
from hplint.plan.plan import Document, Plan
from hplint.plan.style import STYLE_DIALECTS
from hplint.resolve.resolved import ResolvedPlan
from hplint.resolve.resolver import resolve
from hplint.resolve.topology import Topology
from hplint.text.source import Source
from hplint.text.wording import plural, quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from hplint.targets.find import TargetFinder


STYLES = "styles"
"""What rules on plans of styles listen to, besides the dialect itself."""
_NUMBER = re.compile(r"(?<=[`.])[0-9]+(?=[.`])")
"""A number that is a segment of a dotted name in backquotes."""


@dataclass(slots=True)
class Engine:
    """What all checks of one run share: the rules, which of them run, and how boundaries are derived."""

    registry: Registry
    selection: Selection
    derive: "Callable[[ModuleTree, Topology], dict[str, Boundary]]"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What rules read from the configuration: wrapper_names, reader."""
    severities: Mapping[str, str] = field(default_factory=dict)
    """Code -> the severity that the user gives to all that its rule finds."""

    def check(
        self,
        plan: Plan,
        tree: ModuleTree | None,
        topology: Topology,
        finder: "TargetFinder | None" = None,
        faults: tuple[Fault, ...] = (),
    ) -> tuple[list[Diagnostic], ResolvedPlan | None]:
        """All diagnostics of a plan on a topology, and the resolved plan (None without a model).

        Entries whose ``when`` does not hold are checked as under a topology that activates them; what is found there
        is a warning at most.
        """
        inactive = frozenset(e.index for e in plan.entries if e.when and not topology.when_active(e.when.value))
        case = Case(plan, topology, tree, self._resolve(plan, tree, topology), finder, inactive, faults, self.settings)
        found = [(r, f, case.resolved) for r, f in self._run(case)]
        if inactive:
            words = frozenset(plan.entries[i].when.value for i in inactive)  # type: ignore[union-attr]
            supposed = topology.activated(words)
            resolved = self._resolve(plan, tree, supposed, include_inactive=True)
            second = Case(plan, supposed, tree, resolved, finder, inactive, faults, self.settings)
            found += [(r, f, resolved) for r, f in self._run(second) if f.entry and f.entry.index in inactive]
        return _diagnostics(found, plan.source, topology, inactive, self.severities), case.resolved

    def check_document(self, document: Document) -> list[Diagnostic]:
        """Diagnostics of faults that belong to the file and to no plan."""
        plan = Plan(document.source, "", (), document.faults)
        case = Case(plan, Topology())
        found = [(r, f, None) for r, f in self._run(case, of_plan=False)]
        return _diagnostics(found, document.source, Topology(), frozenset(), self.severities)

    def _resolve(
        self, plan: Plan, tree: ModuleTree | None, topology: Topology, include_inactive: bool = False
    ) -> ResolvedPlan | None:
        if tree is None or plan.dialect in STYLE_DIALECTS:
            return None
        derived = self.derive(tree, topology) if topology.derive else {}
        return resolve(plan, tree, topology, derived, include_inactive=include_inactive)

    def _run(self, case: Case, of_plan: bool = True) -> Iterator[tuple[RuleEntry, Finding]]:
        events = {f.rule for f in (*case.plan.faults, *case.case_faults)}
        if case.resolved:
            events.update(f.rule for f in case.resolved.faults)
        if of_plan and case.plan.dialect in STYLE_DIALECTS:
            events.update((case.plan.dialect, STYLES))
        elif of_plan:
            events.add("plan")
            if any(not INJECTION_FIELDS.isdisjoint(e.keys) for e in case.plan.entries):
                events.add("injection")
        for rule in self.registry.listening(events):
            if rule.code in self.selection:
                for finding in self.registry.check(rule, case):
                    yield rule, finding


def _diagnostics(
    found: Sequence[tuple[RuleEntry, Finding, ResolvedPlan | None]],
    source: Source,
    topology: Topology,
    inactive: frozenset[int],
    severities: Mapping[str, str],
) -> list[Diagnostic]:
    """Fold findings that differ in the module alone, or in a name that is made at their place, and order them by place.
    Each comes with the resolved plan that it was found in."""
    folded: dict[tuple[object, ...], _Folded] = {}
    for rule, finding, resolved in found:
        given = severities.get(rule.code)
        severity = given or finding.severity or rule.severity
        if (
            (given or finding.severity is None)
            and severity == "error"
            and finding.entry
            and finding.entry.index in inactive
        ):
            severity = "warning"
        key = (rule.code, finding.span, shape(finding), finding.field)
        one = folded.setdefault(key, _Folded(rule, severity, resolved))
        one.findings.append(finding)
    values = topology.to_json()
    diagnostics = [one.diagnostic(source, values) for one in folded.values()]
    diagnostics.sort(key=lambda d: (d.span, d.code))
    return diagnostics


@dataclass(slots=True)
class _Folded:
    """Findings that are told as one: that of the first entry says how."""

    rule: RuleEntry
    severity: str
    resolved: ResolvedPlan | None
    findings: list[Finding] = field(default_factory=list)

    def diagnostic(self, source: Source, topology: dict[str, Any]) -> Diagnostic:
        # A loop's first round says more than its last, whichever was found first.
        self.findings.sort(key=lambda f: f.entry.index if f.entry else -1)
        first, *others = self.findings
        modules = tuple(dict.fromkeys(f.module for f in self.findings if f.module is not None))
        more = len({f.message for f in self.findings}) - 1
        return Diagnostic(
            code=self.rule.code,
            name=self.rule.name,
            severity=self.severity,
            message=first.message + _where(modules, more),
            source=source,
            span=first.span,
            match=first.entry.match.value if first.entry and first.entry.match else None,
            modules=modules,
            field=first.field,
            topology=topology,
            related=tuple(Related(*r) for r in first.related),
            help=first.help,
            proposals=agreed(first, others, self.resolved) if first.fixes else (),
        )


def shape(finding: Finding) -> str:
    """A finding's message without the names that a loop makes at its place: without the match where it stands at that,
    and without whole numbers inside dotted names."""
    message = finding.message
    for match in finding.entry.matches if finding.entry else ():
        if match.span == finding.span:
            message = message.replace(quote(match.value), "``")
    return _NUMBER.sub("#", message) if "." in message else message


def _where(modules: tuple[str, ...], more: int) -> str:
    """In which modules a diagnostic holds, and how many names besides the shown one it is about."""
    parts = []
    if modules:
        first = modules[0] or "the root module"
        others = f" and {plural(len(modules) - 1, 'more module', 'more modules')}" if len(modules) > 1 else ""
        parts.append(f"in {first}{others}")
    if more >= max(1, len(modules)):
        parts.append(f"and {more:,} more like it")
    return f" ({', '.join(parts)})" if parts else ""


def fingerprint(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Name each diagnostic of one file by rule, plan key, field and ordinal, so that edits elsewhere keep the name."""
    counts: dict[str, int] = {}
    named = []
    for diagnostic in diagnostics:
        base = f"{diagnostic.code}:{diagnostic.match or ''}:{diagnostic.field or ''}"
        counts[base] = counts.get(base, 0) + 1
        named.append(replace(diagnostic, fingerprint=f"{base}:{counts[base]}"))
    return named


def merge_topologies(runs: list[tuple[Topology, list[Diagnostic]]]) -> list[Diagnostic]:
    """Put the diagnostics of several topologies together: each once, with a note where it does not hold in all.

    What is an error at a token in one topology is not told again as a warning for another one.
    """
    if len(runs) == 1:
        return runs[0][1]
    places: dict[tuple[object, ...], tuple[Diagnostic, list[str]]] = {}
    worst: dict[tuple[object, ...], int] = {}
    for topology, diagnostics in runs:
        for d in diagnostics:
            places.setdefault((d.code, d.severity, d.span, d.message, d.field), (d, []))[1].append(spell(topology))
            token = (d.code, d.span, d.field)
            worst[token] = min(worst.get(token, len(SEVERITIES)), SEVERITIES.index(d.severity))
    merged = [
        d if len(names) == len(runs) else replace(d, topology_note=f"with {' and '.join(names)}")
        for d, names in places.values()
        if SEVERITIES.index(d.severity) == worst[d.code, d.span, d.field]
    ]
    merged.sort(key=lambda d: (d.span, d.code))
    return merged


def spell(topology: Topology) -> str:
    """A topology as its mesh is written on the command line: ``dp=2,tp=4``."""
    sizes: Mapping[str, int | None] = topology.mesh or {a: topology.size(a) for a in ("cp", "tp")}
    named = ",".join(f"{axis}={size}" for axis, size in sizes.items() if size is not None) or "no sizes"
    return named if topology.has_ep_axis or topology.ep in (None, 1) else f"{named} ep={topology.ep}"
