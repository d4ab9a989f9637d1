"""Python files -> plans of PyTorch's ``parallelize_module``, read without running or importing anything.

All calls of ``parallelize_module`` in one run of the file make one plan: what they leave out, and what they do to one
another, only shows when they are seen together. A dict of styles that no call is given (a function returns it, a table
of plans holds it) is a plan of its own; what it is applied to is not known. Runs in which conditions go other ways give
further plans; those that hold nothing new are dropped.

Faults recorded here: ``not-evaluated``, at a key or a style that cannot be read, and ``duplicate-key`` (see
recorder.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hplint.front.python.machine import Applied, Machine, Run
from hplint.front.python.values import (
    Const,
    Items,
    MeshValue,
    Origin,
    PlacementValue,
    StyleValue,
    Table,
    Unknown,
    Value,
    hashed,
)
from hplint.front.torch.narrowing import narrowed_calls
from hplint.front.torch.paths import origin_of
from hplint.front.torch.wrapping import wrap_policies
from hplint.plan.entry import UNKNOWN, Keyword, Text
from hplint.plan.fault import Fault
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH, Application, Earlier, MeshUse, Style, StyleEntry
from hplint.text.source import Source
from hplint.text.span import START, Span

_DEPTH = 6


def torch_plans(m: Machine) -> tuple[Plan, ...]:
    """The plans of a file that was run, in reading order, each once."""
    narrowed = narrowed_calls(m.tree, m.places)
    drafts = [d for run in _outermost(m) if (d := _of_run(run, narrowed)) and d.entries]
    _compare(drafts)
    drafts += [_of_table(t) for t in _unapplied(m.tables, _applied_styles(m))]
    kept: list[_Draft] = []
    for draft in sorted(drafts, key=lambda d: -len(d.marks)):
        if draft.entries and not any(draft.marks <= other.marks for other in kept):
            kept.append(draft)
    kept.sort(key=lambda d: d.anchor)
    plans = tuple(_plan(m.source, d) for d in kept)
    if plans:
        plans[0].wraps = wrap_policies(m.tree, m.places)
    return plans


def _outermost(m: Machine) -> list[Run]:
    """The runs whose calls no other run makes: a function that was run by itself before its caller was met is seen
    again from there, with what it is really given."""
    kept = []
    for run in m.runs:
        elsewhere = {a.span for other in m.runs if other.code != run.code for a in other.applied}
        inner = run.function in m.called and {a.span for a in run.applied} <= elsewhere
        if run.applied and not inner:
            kept.append(run)
    return kept


@dataclass(slots=True)
class _Draft:
    """A plan in the making. ``marks`` tell its entries from those of another run."""

    entries: list[StyleEntry]
    faults: list[Fault]
    anchor: Span
    name: str | None
    marks: frozenset[object]
    code: int = -1
    others: list[StyleEntry] = field(default_factory=list)


def _compare(drafts: list[_Draft]) -> None:
    """Tell which entries depend on conditions, and what other runs of the same code or other functions apply: they may
    all be called for one model."""
    by_code: dict[int, list[_Draft]] = {}
    for draft in drafts:
        by_code.setdefault(draft.code, []).append(draft)
    for same in by_code.values():
        keys = [{_place(e) for e in d.entries} for d in same]
        always = set.intersection(*keys)
        for draft, own in zip(same, keys, strict=True):
            for entry in draft.entries:
                entry.conditional = _place(entry) not in always or bool(entry.applied and entry.applied.narrowed)
            elsewhere = {_place(e): e for d in drafts for e in d.entries if _place(e) not in own}
            start = len(draft.entries)
            draft.others = [replace(e, index=start + i, conditional=True) for i, e in enumerate(elsewhere.values())]


def _place(entry: StyleEntry) -> object:
    """What tells an entry from others, whichever style it gets."""
    return entry.key.value if entry.key else entry.span, entry.applied and (entry.applied.variable, entry.applied.steps)


def _plan(source: Source, draft: _Draft) -> Plan:
    return Plan(
        source, TORCH, (), tuple(draft.faults), draft.anchor, name=draft.name,
        styles=tuple(draft.entries), other_styles=tuple(draft.others),
    )  # fmt: skip


def _of_run(run: Run, narrowed: frozenset[Span]) -> _Draft | None:
    """All that one run applies to modules."""
    reader = _Reader()
    anchor, names = START, []
    for applied in run.applied:
        if not any(_styles_in(v) for _, v in applied.items):
            continue
        if anchor == START:
            anchor = (applied.table and applied.table.anchor) or applied.span
        if applied.table and applied.table.name:
            names.append(applied.table.name)
        reader.read(applied.items, _application(applied, run, applied.span in narrowed))
        reader.note_doubled(applied.table)
    draft = reader.draft(anchor, names[0] if len(set(names)) == 1 else None)
    draft.code = run.code
    return draft


def _applied_styles(m: Machine) -> set[Span]:
    """The places of the styles that calls are given."""
    return {s for run in m.runs for applied in run.applied for _, v in applied.items for s in _styles_in(v)}


def _styles_in(value: Value, depth: int = 0) -> set[Span]:
    """The places of a style, or of those in a dict."""
    if isinstance(value, StyleValue):
        return {value.span}
    if not isinstance(value, Table) or depth > _DEPTH:
        return set()
    return {s for _, v in value.entries.values() for s in _styles_in(v, depth + 1)}


def _unapplied(tables: Iterable[Table], given: set[Span]) -> list[Table]:
    """Dicts of styles that no call in the file is given, by the place of their literal. ``given``: the styles that
    calls are given from elsewhere."""
    applied = {t.span for t in tables if t.applied}
    flowed = {t.span for t in tables if t.flowed and not t.returned}
    loose = [t for t in tables if t.holds_styles and t.span not in applied and t.span not in flowed]
    inside = {id(t): _style_spans(t) for t in tables if t.holds_styles}
    return [
        t
        for t in loose
        # A dict from which others take their styles is no plan.
        if t.returned
        or not (
            _style_spans(t) <= given or any(_style_spans(t) < spans for key, spans in inside.items() if key != id(t))
        )
    ]


def _style_spans(table: Table) -> set[Span]:
    return {v.span for _, v in table.entries.values() if isinstance(v, StyleValue)}


def _of_table(table: Table) -> _Draft:
    reader = _Reader()
    reader.read(list(table.entries.values()), None)
    reader.note_doubled(table)
    return reader.draft(table.anchor or table.span, table.name)


class _Reader:
    """Collects the entries of one plan."""

    def __init__(self) -> None:
        self.entries: list[StyleEntry] = []
        self.faults: list[Fault] = []
        self.marks: set[object] = set()

    def draft(self, anchor: Span, name: str | None) -> _Draft:
        return _Draft(self.entries, self.faults, anchor, name, frozenset(self.marks))

    def read(self, items: list[tuple[Value, Value]], applied: Application | None, depth: int = 0) -> None:
        """Read the items of one dict. What is no style and not unknown either (None, a number) is left out."""
        for key, value in items:
            if isinstance(value, (StyleValue, Unknown)):
                self._item(key, value, applied)
            elif isinstance(value, Table) and applied and depth < _DEPTH and isinstance(key, Const) and key.value:
                # torch takes a plan for what a key names, too.
                below = replace(applied, steps=(*applied.steps, *str(key.value).split(".")))
                self.read(list(value.entries.values()), below, depth + 1)

    def note_doubled(self, table: Table | None) -> None:
        """Record keys that a literal writes twice: Python keeps the last one."""
        for key, _ in table.twice if table else ():
            again = table.entries.get(hashed(key)) if table else None
            if again and isinstance(key, Const) and again[0].span != key.span:
                data = {"key": key.value, "section": "plan"}
                related = (("first written here", key.span),)
                self.faults.append(Fault("duplicate-key", again[0].span, data=data, related=related))

    def _item(self, key: Value, value: StyleValue | Unknown, applied: Application | None) -> None:
        index = len(self.entries)
        text, glob = _key(key)
        style = _style(value) if isinstance(value, StyleValue) else None
        unread = [v for v in (key, value) if isinstance(v, Unknown) and not v.parameter]
        if text is None or style is None:
            self.faults += [Fault("not-evaluated", u.span, index, data={"reason": u.reason}) for u in unread[:1]]
        place = text.span if text else key.span
        self.entries.append(StyleEntry(index, text, style, place, applied, glob))
        where = (applied.variable, applied.steps, applied.span, applied.before) if applied else None
        self.marks.add((text, style and style.span, style and style.name, where))


def _key(key: Value) -> tuple[Text | None, bool]:
    match key:
        case Const(value=str() as text):
            return Text(text, key.span), False
        case Unknown(glob=Const(value=str() as text, span=span)) if text != "*":
            return Text(text, span), True
    return None, False


def _style(value: StyleValue) -> Style:
    arguments = {
        name: Keyword(_static(given), place, given.span) for name, (place, given) in value.arguments.items()
    }  # fmt: skip
    return Style(value.name, "torch", value.span, arguments, value.base, value.strange)


def _static(value: Value, depth: int = 0) -> object:
    """An argument of a style as plain values and placements; UNKNOWN where any part of it cannot be read."""
    if depth > _DEPTH:
        return UNKNOWN
    match value:
        case Const():
            return value.value
        case PlacementValue():
            return value.placement
        case Items(rest=None, items=items):
            parts = [_static(i, depth + 1) for i in items]
            return UNKNOWN if any(p is UNKNOWN for p in parts) else tuple(parts)
        case Table() if value.is_whole:
            found = {_static(k, depth + 1): _static(v, depth + 1) for k, v in value.entries.values()}
            return UNKNOWN if any(v is UNKNOWN for v in (*found, *found.values())) else found
    return UNKNOWN


def _application(applied: Applied, run: Run, narrowed: bool) -> Application:
    origin = origin_of(applied.module)
    mesh = _mesh(applied.mesh)
    span = applied.module.span if applied.module is not None else applied.span
    if origin is None:
        return Application(span=span, mesh=mesh, narrowed=narrowed)
    return Application(origin.steps, origin.variable, span, mesh, tuple(_before(origin, applied, run)), narrowed)


def _before(origin: Origin, applied: Applied, run: Run) -> Iterable[Earlier]:
    for kind, place in origin.wrapped:
        yield Earlier(kind, place, origin.steps)
    for kind, there, place in run.events[: applied.events]:
        if there.variable == origin.variable:
            yield Earlier(kind, place, there.steps)


def _mesh(value: Value | None) -> MeshUse | None:
    match value:
        case MeshValue(picked=picked):
            text = Text(str(picked.value), picked.span) if picked else None
            return MeshUse(value.span, value.axes, value.size, text, value.whole)
        case Unknown(origin=Origin(picked=Const(value=str() as name, span=span))):
            return MeshUse(value.span, (name,), 1, Text(name, span))
    return None
