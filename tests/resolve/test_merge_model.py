"""Merging against a plain reference model: the dumbest code that does what the runtime does."""

from fnmatch import fnmatchcase
from typing import Any

import yaml
from checking import mesh_topology
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import plan_of, tree_of

from hplint.derive.boundary import Boundary
from hplint.derive.given import boundaries_from
from hplint.resolve.resolver import resolve

CONTRACT = ("params", "in_src", "in_dst", "out_src", "out_dst")
FIELDS = (*CONTRACT, "region_dispatch", "inner_target")

NAMES = ["model", "model.layers", "model.norm", "head"]
NAMES += [f"model.layers.{i}{rest}" for i in range(3) for rest in ("", ".attn", ".attn.q", ".mlp", ".mlp.up")]
MATCHES = st.sampled_from(
    [*NAMES, "nowhere", "model.layers.9", "*", "*.mlp", "*.attn", "*.q", "model.*", "model.layers.?.mlp", "*.none",
     "model.layers.[01].*", "*norm"]
)  # fmt: skip
LAYOUTS = st.dictionaries(
    st.sampled_from(["x", "y"]), st.sampled_from([{"tp": "shard(0)"}, {"tp": "replicate"}]), max_size=2
)
VALUES = st.one_of(st.sampled_from(["auto", "none", None]), LAYOUTS)
ENTRIES = st.fixed_dictionaries(
    {"match": MATCHES},
    optional={
        **dict.fromkeys(CONTRACT, VALUES),
        "region_dispatch": st.sampled_from([True, False, None]),
        "inner_target": st.sampled_from(["self", "q", None]),
        "when": st.sampled_from(["cp", "ep"]),
    },
)
DERIVED = st.dictionaries(
    st.sampled_from(NAMES),
    st.fixed_dictionaries({"params": LAYOUTS, "in_src": LAYOUTS, "in_dst": LAYOUTS, "out_dst": LAYOUTS}),
    max_size=8,
)


def reference(entries: list[dict[str, Any]], derived: dict[str, Any]) -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """Boundaries as {field: value}, and (fault, match) pairs. cp is active, ep is not."""
    folded: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.get("when") != "ep":
            spec = folded.setdefault(entry["match"], {})
            spec.update({f: v for f in FIELDS if (v := entry.get(f)) is not None})
    found = {fqn: {f: boundary.get(f) for f in FIELDS} for fqn, boundary in derived.items()}
    faults = set()
    modules = ["", *NAMES]

    def merge(fqn: str) -> None:
        for name, value in spec.items():
            if name in CONTRACT and value == "auto":
                continue
            if name in CONTRACT and value == "none":
                value = None if name.startswith("out") else {}
            old = found[fqn]["params"] or {}
            if name == "params" and value and set(old) - set(value):
                faults.add(("dropped-parameters", match))
            found[fqn][name] = value

    def insert(fqn: str) -> None:
        if not any(f in CONTRACT for f in spec):
            faults.add(("missing-contract", match))
            return
        found[fqn] = {f: spec.get(f) for f in FIELDS}
        for name in CONTRACT:
            if isinstance(spec.get(name), str):
                faults.add(("sentinel-on-insert", match))
                found[fqn][name] = None

    for match, spec in folded.items():
        if not any(c in match for c in "*?["):
            if match in found:
                merge(match)
            elif match in modules:
                insert(match)
            else:
                faults.add(("unknown-module", match))
            continue
        there = [f for f in found if fnmatchcase(f, match)]
        absent = [f for f in modules if fnmatchcase(f, match) and f not in found]
        if not there and not absent:
            faults.add(("glob-matches-nothing", match))
        for fqn in there:
            merge(fqn)
        if any(isinstance(spec.get(f), dict) for f in CONTRACT):
            for fqn in absent:
                insert(fqn)
        elif absent:
            faults.add(("merge-only-glob", match))
    for boundary in found.values():
        for name in ("params", "in_src", "in_dst"):
            boundary[name] = boundary[name] if boundary[name] is not None else {}
    return found, faults


def plain(boundary: Boundary) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name in CONTRACT:
        layouts = boundary.contract(name)
        shown[name] = layouts if layouts is None else {
            tensor: {axis: str(p) for axis, p in layout.placements.items()} for tensor, layout in layouts.items()
        }  # fmt: skip
    shown["region_dispatch"] = boundary.region_dispatch
    shown["inner_target"] = boundary.inner_target.value if boundary.inner_target else None
    return shown


@settings(max_examples=150, deadline=None)
@given(st.lists(ENTRIES, max_size=6), DERIVED)
def test_resolving_equals_the_reference_model(entries: list[dict[str, Any]], derived: dict[str, Any]) -> None:
    plan = plan_of(yaml.safe_dump({"plan_overrides": entries}, sort_keys=False))
    before = boundaries_from(derived)
    resolved = resolve(plan, tree_of(NAMES), mesh_topology({"cp": 2, "tp": 2}), before)
    expected, faults = reference(entries, derived)
    assert {fqn: plain(b) for fqn, b in resolved.boundaries.items()} == expected
    told = {(f.rule, plan.entries[f.entry].matches[0].value) for f in resolved.faults if f.entry is not None}
    assert told == faults
    assert {fqn: plain(b) for fqn, b in before.items()} == {
        fqn: plain(b) for fqn, b in boundaries_from(derived).items()
    }
