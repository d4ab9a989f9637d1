"""Fixes that many rules propose: near names instead of misspelt ones, and what is refused taken out."""

from collections.abc import Iterable

from hplint.lint.proposal import ChangeComment, Proposal, Remove, RemoveEntry, Rename, Rewrite, SetField
from hplint.plan.entry import Entry
from hplint.plan.layout import OUTPUT
from hplint.plan.placement import REPLICATE, Placement
from hplint.plan.written import Written
from hplint.text.near import is_slip, near, one_near
from hplint.text.span import Span
from hplint.text.wording import listing, quote

_SERVES = {
    "local_compute_fn": (),
    "inner_wrapper": ("inner_target", "inner_out_src"),
    "inner_target": ("inner_wrapper", "inner_out_src"),
    "replace_module": ("module_type", "exact_type"),
}
"""Field that injects something -> the fields that mean nothing without it."""
_FUNCTIONS = ("local_compute_fn", "inner_wrapper")


def rename(span: Span, word: str, name: str, safe: bool = False) -> Proposal:
    """Write ``name`` for the token that says ``word``."""
    return Proposal(f"replace {quote(word)} by {quote(name)}", (Rename(span, name),), safe)


def rename_to_one(
    spans: Iterable[Span], word: str, names: Iterable[str], safe: bool = True, sure: bool = False
) -> tuple[Proposal, ...]:
    """One proposal for each of the names that may have been meant, the nearest first. It is safe where one of them is
    clearly meant; with ``sure`` a single one is, whatever its spelling. ``spans`` are all the tokens that say ``word``
    and change together."""
    choices, places = tuple(names), tuple(dict.fromkeys(spans))
    alone = len(choices) == 1 and (sure or is_slip(word, choices[0]))
    clear = choices[0] if alone else one_near(word, choices)
    return tuple(
        Proposal(
            f"replace {quote(word)} by {quote(name)}", tuple(Rename(p, name) for p in places), safe and name == clear
        )
        for name in sorted(choices, key=lambda n: n != clear)
        if name == clear or clear is None
    )


def rename_to_near(
    span: Span, word: str, names: Iterable[str], taken: Iterable[str] = (), safe: bool = True
) -> tuple[Proposal, ...]:  # fmt: skip
    """The same for a token and the names that are allowed there; none where no name is near. ``taken`` are names that
    are written beside it already."""
    used = set(taken)
    return rename_to_one([span], word, [n for n in near(word, names) if n not in used], safe)


def rename_in_comment(span: Span, word: str, names: Iterable[str]) -> tuple[Proposal, ...]:
    """The same for a word of a comment."""
    return tuple(
        Proposal(p.title, tuple(ChangeComment(*c) for c in p.changes if isinstance(c, Rename)), p.safe)
        for p in rename_to_near(span, word, names)
    )


def rewrite(span: Span, old: str, value: object, safe: bool = False) -> Proposal:
    """Write another value; ``old`` is the one that is written now."""
    return Proposal(f"replace {quote(old)} by {quote(_spelled(value))}", (Rewrite(span, value),), safe)


def set_field(entry: Entry, field: str, value: object, safe: bool = False, why: str = "") -> Proposal:
    """Give an entry a field; ``why`` follows in the title."""
    title = f"add {quote(f'{field}: {_spelled(value)}')}"
    return Proposal(f"{title}, {why}" if why else title, (SetField(entry, field, value),), safe)


def remove_item(span: Span, name: str, safe: bool = False) -> Proposal:
    """Take out the item whose key, or the list item that, stands at ``span``."""
    return Proposal(f"remove {quote(name)}", (Remove(span),), safe)


def remove_entry(entry: Entry, safe: bool = False) -> Proposal:
    """Take out a whole entry."""
    name = f" {quote(entry.match.value)}" if entry.match else ""
    return Proposal(f"remove the entry{name}", (RemoveEntry(entry),), safe)


def remove_fields(entry: Entry, *fields: str, safe: bool = False) -> Proposal:
    """Take these fields out of an entry, and the entry with them where nothing else is left in it."""
    there = [f for f in fields if f in entry.keys]
    if entry.keys.keys() | entry.broken <= {"match", "when", *there}:
        return remove_entry(entry, safe)
    return Proposal(f"remove {listing(there, most=9)}", tuple(Remove(entry.keys[f]) for f in there), safe)


def remove_injection(entry: Entry, field: str) -> tuple[Proposal, ...]:
    """Take out what an entry injects through ``field``, with the fields that only serve it: unsafe.

    ``region_dispatch`` goes too, unless the entry injects something else. A false one may be what an expert boundary
    needs: a second choice keeps it.
    """
    goes = injection_fields(entry, field)
    removed = remove_fields(entry, *goes)
    if "region_dispatch" not in goes or entry.region_dispatch is None or entry.region_dispatch.value:
        return (removed,)
    return (removed, remove_fields(entry, *(f for f in goes if f != "region_dispatch")))


def injection_fields(entry: Entry, field: str) -> list[str]:
    """What an entry writes for the sake of the function that it injects through ``field``."""
    goes = [field, *_SERVES[field]]
    alone = not any(f in entry.keys and f not in goes for f in _FUNCTIONS)
    if field != "replace_module" and alone:
        goes.append("region_dispatch")
    return [f for f in goes if f in entry.keys]


def remove_axis(w: Written) -> tuple[Proposal, ...]:
    """Take out a placement with its axis; the field as a whole where nothing else is in it. Unsafe."""
    span, written = w.layout.axis_spans.get(w.axis), w.entry.contract[w.field]
    if span is None:
        return ()
    name = f"{w.axis}: {w.placement}" if w.placement else w.axis
    alone = len(w.layout.placements) == 1
    whole = remove_fields(w.entry, w.field)
    if alone and w.name == OUTPUT and written.shorthand:
        return (whole,)
    item = remove_item(span, name)
    place = w.layout.placement_spans.get(w.axis)
    if not alone or place is None:
        return (item,)
    # A tensor that must stay may lie whole on every rank.
    neutral = Proposal(f"replace {quote(name)} by `tp: replicate`", (Rename(span, "tp"), Rewrite(place, REPLICATE)))
    # Without its params an entry may say something else altogether.
    keeps = w.field == "params" or len(written.layouts or ()) > 1
    return (item, neutral) if keeps else (item, neutral, whole)


def _spelled(value: object) -> str:
    """A value as a plan spells it, for titles."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case Placement() | str():
            return str(value)
        case dict():
            return "{" + ", ".join(f"{k}: {_spelled(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_spelled, value)) + "]"
    return str(value)
