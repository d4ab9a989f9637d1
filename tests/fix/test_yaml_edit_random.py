"""Edits of random plans against the same changes of the data behind them."""

import json
from random import Random
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_writer import (
    AXES,
    CONTRACT,
    FIELDS,
    NAMES,
    PLACEMENTS,
    TENSORS,
    PlanWriter,
    random_fields,
    random_layout,
    random_plan,
    random_value,
)

from hplint.fix.edit import CannotRealise, apply
from hplint.fix.yaml_edit import realise
from hplint.front.read import read_document
from hplint.lint.proposal import AddEntries, AddItem, Change, Remove, RemoveEntry, Rename, Rewrite, SetField
from hplint.plan.plan import Plan


class World:
    """A plan as data and as read from a text; changes are made to both."""

    def __init__(self, data: Any, form: str, plan: Plan, rng: Random) -> None:
        self.data = json.loads(json.dumps(data))  # what anchors share is apart here
        self.form = form
        self.plan = plan
        self.rng = rng
        self.busy: set[object] = set()
        self.gone: list[tuple[Any, ...]] = []
        """Paths of items that go, or that are written anew."""
        self.changes: list[Change] = []

    @property
    def entries(self) -> Any:
        return self.data["plan_overrides"] if self.form.startswith("overrides") else self.data

    def path(self, *rest: Any) -> tuple[Any, ...]:
        return (*(("plan_overrides",) if self.form.startswith("overrides") else ()), *rest)

    def key(self, index: int) -> Any:
        entry = self.plan.entries[index]
        return entry.match.value if "mapping" in self.form and entry.match else index

    def fields(self, index: int) -> dict[str, Any]:
        return self.entries[self.key(index)]

    def change(self) -> None:
        index = self.rng.randrange(len(self.plan.entries))
        if index in self.busy:
            return
        kind = self.rng.choice(["match", "placement", "axis", "tensor", "field", "set", "add", "item"])
        getattr(self, f"do_{kind}")(index)

    def contracts(self, index: int) -> list[str]:
        entry = self.plan.entries[index]
        return [
            f for f in CONTRACT if f in entry.contract and entry.contract[f].layouts and (index, f) not in self.busy
        ]

    def layout(self, index: int) -> tuple[str, str] | None:
        fields = self.contracts(index)
        if not fields:
            return None
        field = self.rng.choice(fields)
        self.busy.add((index, field))
        return field, self.rng.choice(list(self.fields(index)[field]))

    def do_match(self, index: int) -> None:
        free = [n for n in NAMES if n not in {e.match.value for e in self.plan.entries if e.match}]
        if "mapping" in self.form or (index, "match") in self.busy:
            return
        self.busy.add((index, "match"))
        name = self.rng.choice(free)
        self.changes.append(Rename(self.plan.entries[index].match.span, name))
        self.fields(index)["match"] = name

    def do_placement(self, index: int) -> None:
        if found := self.layout(index):
            field, tensor = found
            axes = self.fields(index)[field][tensor]
            axis, new = self.rng.choice(list(axes)), self.rng.choice(PLACEMENTS)
            span = self.plan.entries[index].contract[field].layouts[tensor].placement_spans[axis]
            self.changes.append(self.rng.choice([Rename, Rewrite])(span, new))
            axes[axis] = new

    def do_axis(self, index: int) -> None:
        if found := self.layout(index):
            field, tensor = found
            axes = self.fields(index)[field][tensor]
            axis = self.rng.choice(list(axes))
            layout = self.plan.entries[index].contract[field].layouts[tensor]
            if self.rng.random() < 0.5:
                new = next(a for a in (*AXES, "zz") if a not in axes)
                self.changes.append(Rename(layout.axis_spans[axis], new))
                self.fields(index)[field][tensor] = {new if a == axis else a: p for a, p in axes.items()}
            elif len(axes) > 1:
                self.changes.append(Remove(layout.axis_spans[axis]))
                del axes[axis]
                self.gone.append(self.path(self.key(index), field, tensor, axis))

    def do_tensor(self, index: int) -> None:
        if found := self.layout(index):
            field, tensor = found
            self.changes.append(Remove(self.plan.entries[index].contract[field].layouts[tensor].name_span))
            del self.fields(index)[field][tensor]
            self.gone.append(self.path(self.key(index), field, tensor))

    def do_item(self, index: int) -> None:
        field = self.rng.choice(CONTRACT)
        if (index, field) in self.busy:
            return
        self.busy.add((index, field))
        known = self.fields(index).get(field)
        tensor = next(t for t in (*TENSORS, "zz", "yy") if not isinstance(known, dict) or t not in known)
        layout = random_layout(self.rng)
        self.changes.append(AddItem(self.plan.entries[index], field, tensor, layout))
        if isinstance(known, dict):
            known[tensor] = layout
        else:
            self.fields(index)[field] = {tensor: layout}

    def do_field(self, index: int) -> None:
        field = self.rng.choice([*self.fields(index), "match"])
        if (index, field) in self.busy or field == "match":
            return
        self.busy.add((index, field))
        self.changes.append(Remove(self.plan.entries[index].keys[field]))
        del self.fields(index)[field]
        self.gone.append(self.path(self.key(index), field))

    def do_set(self, index: int) -> None:
        field = self.rng.choice(FIELDS)
        if (index, field) in self.busy:
            return
        self.busy.add((index, field))
        if field in self.fields(index):
            self.gone.append(self.path(self.key(index), field))
        value = random_value(field, self.rng)
        self.changes.append(SetField(self.plan.entries[index], field, value, self.rng.choice(["", "a draft"])))
        self.fields(index)[field] = value

    def do_add(self, index: int) -> None:
        if not self.changes and len(self.busy) == 0:
            self.whole_entries(index)

    def whole_entries(self, index: int) -> None:
        """Entries that go and come: alone, for indexes shift."""
        self.busy |= set(range(len(self.plan.entries)))
        entry, rng = self.plan.entries[index], self.rng
        new = {"match": "model.new", **random_fields(rng)}
        fields = {k: v for k, v in new.items() if k != "match"}
        mapping = "mapping" in self.form
        items = list(self.entries.items()) if mapping else list(self.entries)
        at = index
        added = ("model.new", fields) if mapping else new
        match rng.randint(0, 3):
            case 0:
                self.changes.append(RemoveEntry(entry))
                self.gone.append(self.path(self.key(index)))
                items.pop(at)
            case 1:
                self.changes.append(AddEntries((new,), entry, True, "a draft"))
                self.gone.append(self.path(self.key(index)))
                items[at] = added
            case 2:
                self.changes.append(AddEntries((new,), entry, comment="a draft"))
                items.insert(at + 1, added)
            case 3:
                self.changes.append(AddEntries((new,), None))
                items.append(added)
        result: Any = dict(items) if mapping else items
        if self.form.startswith("overrides"):
            self.data["plan_overrides"] = result
        else:
            self.data = result


@given(st.integers(0, 2**32))
@settings(max_examples=300, deadline=None, report_multiple_bugs=False)
def test_edits_of_a_text_mean_the_same_changes_of_its_data(seed: int) -> None:
    check_seed(seed)


def check_seed(seed: int) -> None:
    rng = Random(seed)
    data, form = random_plan(rng)
    is_json = rng.random() < 0.15
    writer = PlanWriter(rng)
    text = json.dumps(data, indent=rng.choice([None, 2])) if is_json else writer.write(data)
    document = read_document("plan.json" if is_json else "plan.yaml", text.encode())
    assert not document.faults, (text, document.faults)
    assert yaml.safe_load(text) == data, text
    world = World(data, form, document.plans[0], rng)
    for _ in range(rng.randint(1, 4)):
        world.change()
    if not world.changes:
        return
    edits = realise(document.source, document.plans[0], world.changes)
    after = apply(text, edits)
    told = f"{text}\n=====\n{world.changes}\n=====\n{after}"
    read = json.loads(after) if is_json else yaml.safe_load(after)
    assert read == world.data, told
    for note, owner in writer.comments.items():
        if not any(owner[: len(path)] == path or owner == path[:-1] for path in world.gone):
            assert note in after, f"{note} is lost in\n{told}"
        elif owner in world.gone and not any(isinstance(c, SetField | AddItem | AddEntries) for c in world.changes):
            assert note not in after, f"{note} of {owner} is left in\n{told}"
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    if "\n" in text:
        assert ("\r\n" in text) == ("\r\n" in after) or "\n" not in after
        assert after.count("\n") == after.count("\r\n") or "\r\n" not in text, told
    assert after.endswith("\n") == text.endswith("\n"), told


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None, report_multiple_bugs=False)
def test_what_anchors_share_is_changed_for_nobody_else(seed: int) -> None:
    check_shared(seed)


def check_shared(seed: int) -> None:
    rng = Random(seed)
    data, form = random_plan(rng)
    entries = data["plan_overrides"] if form.startswith("overrides") else data
    fields = list(entries.values()) if isinstance(entries, dict) else entries
    for _ in range(rng.randint(1, 3)):
        one, other = rng.choice(fields), rng.choice(fields)
        for field in CONTRACT:
            if field in one and (field in other or rng.random() < 0.3):
                other[field] = one[field]
            elif field in one and isinstance(one[field], dict) and rng.random() < 0.5:
                tensor = next(iter(one[field]))
                one[field]["shared"] = one[field][tensor]
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=rng.choice([None, True, False]))
    document = read_document("plan.yaml", text.encode())
    world = World(data, form, document.plans[0], rng)
    world.change()
    try:
        edits = realise(document.source, document.plans[0], world.changes)
    except CannotRealise:
        assert "&id" in text
        return
    after = apply(text, edits)
    assert yaml.safe_load(after) == world.data, f"{text}\n=====\n{world.changes}\n=====\n{after}"
