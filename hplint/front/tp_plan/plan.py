"""Python files -> ``tp_plan``s of Hugging Face, read without running or importing anything.

Each name that carries a plan (an attribute of a config or model class, of an object, an argument) makes a plan of its
own. So does a dict that nothing in the file takes, where its name and its words tell that it is one. Runs in which
conditions go other ways give further variants; those that hold nothing new are dropped. Entries that come from outside
the file (the plan of an imported class that is extended, a parameter) have no key and no style, and no fault.

Faults recorded here, beside those of the entries: ``duplicate-key`` (see recorder.py), and ``wrong-type`` at a size:
``value``, ``type``, ``allowed``, ``key``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from hplint.front.nodes import Scalar
from hplint.front.python.machine import Machine
from hplint.front.python.nodes import Converter
from hplint.front.python.values import Const, Items, Spec, StyleValue, Table, Unknown, Value, hashed
from hplint.front.recorder import Recorder
from hplint.front.tp_plan.claims import Claim, is_elsewhere, note_tables
from hplint.front.tp_plan.entries import Item, read_items
from hplint.front.tp_plan.files import read_size
from hplint.front.tp_plan.words import CARRIERS, is_word, looks_like_plan
from hplint.plan.entry import Text
from hplint.plan.fault import Fault
from hplint.plan.plan import Accelerator, Plan
from hplint.plan.style import TP_PLAN, Carrier, StyleEntry
from hplint.text.source import Source
from hplint.text.span import Span


def tp_plans(m: Machine) -> tuple[Plan, ...]:
    """The plans of a file that was run, in reading order, each once."""
    note_tables(m)
    claims = [c for c in m.claims if not c.replaced and _is_plan(c)]
    claims += _loose(m)
    by_place: dict[tuple[Span, Carrier], list[_Draft]] = {}
    for claim in claims:
        by_place.setdefault((claim.place, claim.carrier), []).append(_draft(m.source, claim))
    drafts = [d for same in by_place.values() for d in _variants(same)]
    return tuple(_plan(m.source, d) for d in sorted(_once(drafts), key=lambda d: (d.claim.place, d.first)))


def unread_plans(m: Machine) -> list[Unknown]:
    """What stands under a name that can only be that of a plan, and cannot be read at all."""
    sure = [c.value for c in m.claims if c.sure and not c.replaced]
    return [v for v in sure if isinstance(v, Unknown) and not is_elsewhere(v)]


def _is_plan(claim: Claim) -> bool:
    table, section, kind = claim.value, claim.carrier.section, claim.carrier.kind
    if not isinstance(table, Table):
        return False
    values = [v for _, v in table.entries.values()]
    if any(isinstance(v, (StyleValue, Spec)) or (isinstance(v, Table) and kind != "config") for v in values):
        return False
    if not values:
        return claim.sure
    keyed = [(k, v) for k, v in table.entries.values() if not is_elsewhere(k) and not is_elsewhere(v)]
    if kind == "config" or not keyed:
        return bool(keyed)
    if section == "pp":
        return any(isinstance(v, (Items, Const)) for _, v in keyed)
    texts = [(_text(k), v.value) for k, v in keyed if isinstance(v, Const) and isinstance(v.value, str)]
    return bool(texts) and (claim.sure or looks_like_plan(texts))


def _text(key: Value) -> object:
    found = key.glob if isinstance(key, Unknown) else key
    return found.value if isinstance(found, Const) else None


def _loose(m: Machine) -> Iterator[Claim]:
    """Dicts that are plans by their name and their words, and that nothing takes. Where the file makes styles of
    torch out of such words, its dicts are no plans of this dialect."""
    if any(run.applied for run in m.runs):
        return
    taken = {c.value.span for c in m.claims} | {t.span for t in m.tables if t.flowed and not t.returned}
    for table in m.tables:
        name, place = table.name or "", table.anchor or table.span
        if "plan" not in name.lower():
            continue
        for key, inner in table.entries.values():
            if isinstance(inner, Table) and isinstance(key, Const) and inner.span not in taken and _is_words(inner):
                yield Claim(Carrier(), name, key.span, inner)
        if table.span not in taken and _is_words(table):
            yield Claim(CARRIERS.get(name, Carrier()), name, place, table)


def _is_words(table: Table) -> bool:
    """Whether a dict holds words of the library alone; some of these are words of everybody, unless a path has them."""
    texts = [(_text(k), v.value) for k, v in table.entries.values() if isinstance(v, Const)]
    if not all(isinstance(v, (Const, Unknown)) for _, v in table.entries.values()):
        return False
    telling = [w for k, w in texts if is_word(w) and ("wise" in str(w) or "." in str(k))]
    return bool(telling) and all(isinstance(w, str) for _, w in texts)


@dataclass(slots=True)
class _Draft:
    """A plan in the making. ``marks`` tell its entries from those of another run."""

    claim: Claim
    entries: tuple[StyleEntry, ...]
    faults: list[Fault]
    accelerator: Accelerator | None
    marks: frozenset[object]
    others: tuple[StyleEntry, ...] = ()

    @property
    def first(self) -> Span:
        return self.entries[0].span if self.entries else self.claim.place


def _draft(source: Source, claim: Claim) -> _Draft:
    assert isinstance(claim.value, Table)
    convert = Converter(source)
    entries, faults = read_items(_items(claim.value, convert), claim.carrier.section)
    log = Recorder()
    _doubled(claim.value, log)
    accelerator = _sizes(claim, convert, log)
    marks = frozenset((e.key, e.style and (e.style.name, e.style.span), e.span) for e in entries)
    return _Draft(claim, entries, [*log.faults, *faults], accelerator, marks)


def _items(table: Table, convert: Converter) -> Iterator[Item]:
    for key, value in table.entries.values():
        glob = key.glob if isinstance(key, Unknown) else None
        elsewhere = is_elsewhere(value)
        if glob is not None and glob.value != "*" and not elsewhere:
            yield Item(Scalar(glob.value, glob.span, True), convert.node(value), True)
        else:
            yield Item(convert.node(key), convert.node(value), False, elsewhere or is_elsewhere(key))


def _doubled(table: Table, log: Recorder) -> None:
    """Keys that a literal writes twice: Python keeps the last one."""
    for key, _ in table.twice:
        again = table.entries.get(hashed(key))
        if again and isinstance(key, Const) and again[0].span != key.span:
            log.add("duplicate-key", again[0].span, ("first written here", key.span), key=key.value, section="plan")


def _sizes(claim: Claim, convert: Converter, log: Recorder) -> Accelerator | None:
    found = Accelerator(claim.place, implied=False)
    for name, value in claim.sizes.items():
        if isinstance(value, Unknown):
            continue
        read_size(found, name, convert.node(value), log)
    return found if found.sizes or found.unread else None


def _variants(same: list[_Draft]) -> list[_Draft]:
    """The drafts of one name in several runs, without those that hold nothing new."""
    if len(same) > 1:
        _compare(same)
    kept: list[_Draft] = []
    for draft in sorted(same, key=lambda d: -len(d.marks)):
        if not any(draft.marks <= other.marks for other in kept):
            kept.append(draft)
    return kept


def _compare(same: list[_Draft]) -> None:
    """Tell which entries depend on conditions, and what other runs give the same name."""
    keys = [{_place(e) for e in d.entries} for d in same]
    always = set.intersection(*keys)
    for draft, own in zip(same, keys, strict=True):
        for entry in draft.entries:
            entry.conditional = _place(entry) not in always
        elsewhere = {_place(e): e for d in same for e in d.entries if _place(e) not in own}
        start = len(draft.entries)
        draft.others = tuple(replace(e, index=start + i, conditional=True) for i, e in enumerate(elsewhere.values()))


def _place(entry: StyleEntry) -> object:
    return entry.key.value if entry.key else entry.span


def _once(drafts: Iterable[_Draft]) -> list[_Draft]:
    """Drop arguments that are handed on, of which what is known best is said once, and plans that something of the
    same name goes on with."""
    kept: list[_Draft] = []
    for draft in sorted(drafts, key=lambda d: (-_known(d), -len(d.marks))):
        if not any(_covers(other, draft) for other in kept):
            kept.append(draft)
    return kept


def _known(draft: _Draft) -> int:
    return bool(draft.accelerator) + bool(draft.claim.model)


def _covers(other: _Draft, draft: _Draft) -> bool:
    if draft.claim.carrier.kind != "argument":
        return draft.claim.carrier == other.claim.carrier and bool(draft.marks) and draft.marks < other.marks
    if other.claim.carrier.section != draft.claim.carrier.section or not draft.marks <= other.marks:
        return False
    if not draft.marks and other.claim.value.span != draft.claim.value.span:
        return False
    return _known(draft) == 0 or (_run(draft) == _run(other))


def _run(draft: _Draft) -> object:
    sizes = draft.accelerator.sizes if draft.accelerator else {}
    return {axis: n.value for axis, n in sizes.items()}, draft.claim.model and draft.claim.model.value


def _plan(source: Source, draft: _Draft) -> Plan:
    claim = draft.claim
    model = Text(str(claim.model.value), claim.model.span) if claim.model else None
    return Plan(
        source, TP_PLAN, (), tuple(draft.faults), claim.place, draft.accelerator, model,
        name=claim.name, styles=draft.entries, other_styles=draft.others, carrier=claim.carrier,
    )  # fmt: skip
