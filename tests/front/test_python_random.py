"""Random Python text: static reading agrees with running it, and nothing is too strange to be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st
from python_programs import Sensible, Strange
from python_samples import IMPORTS

from hplint.front.python.machine import Machine
from hplint.front.python.plan import read_python
from hplint.plan.plan import Document, Plan
from hplint.text.source import Source
from hplint.text.span import Span

PLANS = sorted((Path(__file__).parents[2] / "fixtures" / "plans").rglob("*.py"))
SEEDS = st.integers(0, 2**32)
TAIL = "ShardingPlanner(plan_overrides=p, derive=False)\n"
_BITS = [
    "",
    "(",
    ")",
    "{",
    "**",
    ":",
    ",",
    "\n",
    "\r",
    "\t",
    "'",
    '"',
    "é",
    "𝔘",
    "\ufeff",
    "\0",
    "x",
    "[i]",
    "#",
    "if x:",
]


class ModuleShardingSpec:
    """Stands in for the real class when a generated program is run."""

    def __init__(self, *, params: Any = None, region_dispatch: Any = None, inner_target: Any = None) -> None:
        layouts = params and {t: {a: p.dim for a, p in layout.items()} for t, layout in params.items()}
        self.fields = (layouts, region_dispatch, inner_target)


class Shard:
    def __init__(self, dim: int) -> None:
        self.dim = dim


@pytest.fixture(autouse=True, scope="module")
def few_steps() -> Iterator[None]:
    before, Machine.limit = Machine.limit, 20_000
    yield
    Machine.limit = before


def ran(text: str) -> dict[str, Any] | None:
    """What running a generated program makes; None where it fails."""
    scope: dict[str, Any] = {"ModuleShardingSpec": ModuleShardingSpec, "Shard": Shard}
    try:
        exec(compile(text, "generated", "exec"), scope)
    except (TypeError, ValueError, LookupError, ArithmeticError, NameError, RuntimeError):
        return None
    return {key: value.fields for key, value in scope["p"].items()}


def was_read(plan: Plan) -> dict[str, Any]:
    found = {}
    for entry in plan.entries:
        layouts = entry.contract["params"].layouts if "params" in entry.contract else None
        found[entry.match.value] = (
            {t: {a: p.dim for a, p in layout.placements.items()} for t, layout in layouts.items()}
            if layouts is not None
            else None,
            entry.region_dispatch and entry.region_dispatch.value,
            entry.inner_target and entry.inner_target.value,
        )
    return found


@settings(max_examples=200, deadline=None)
@example(479001599)
@example(91318)
@given(SEEDS)
def test_static_reading_agrees_with_running_the_program(seed: int) -> None:
    text = Sensible(seed).program()
    note(text)
    expected = ran(text)
    document = read_python(Source("generated.py", text + TAIL))
    # A program may grow past the bound on steps: then the file says so (HPL008) and what comes after is not read.
    if expected is not None and not any("steps" in f.data.get("reason", "") for f in document.faults):
        (plan,) = [p for p in document.plans if not p.derive]
        # A literal may happen to write one key in two ways.
        assert [f for f in plan.faults if f.rule != "duplicate-key"] == []
        assert was_read(plan) == expected
        assert list(was_read(plan)) == list(expected)


def spans(document: Document) -> list[Span]:
    found = [f.span for f in document.faults]
    for plan in document.plans:
        found += [plan.anchor, *(f.span for f in plan.faults), *(s for f in plan.faults for _, s in f.related)]
        for entry in plan.entries:
            found += [entry.span, *entry.keys.values(), *entry.values.values(), *(m.span for m in entry.matches)]
            for field in entry.contract.values():
                for layout in (field.layouts or {}).values():
                    found += [*layout.axis_spans.values(), *layout.placement_spans.values()]
    return found


def check(text: str) -> None:
    document = read_python(Source("plan.py", text))
    for span in spans(document):
        assert 0 <= span.start <= span.end <= len(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    check(text)
    check(f"ModuleShardingSpec\n{text}")


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(PLANS), st.data())
def test_a_damaged_plan_file_is_read(path: Path, data: st.DataObject) -> None:
    text = path.read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 4))):
        start, other = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))
        end = min(start + data.draw(st.integers(0, 30)), len(text))
        new = data.draw(st.sampled_from([*_BITS, text[other : other + 25]]))
        text = text[:start] + new + text[end:]
    check(text)


@settings(max_examples=400, deadline=None)
@given(SEEDS)
def test_any_program_is_read(seed: int) -> None:
    text = Strange(seed).program()
    note(text)
    check(IMPORTS + text)
