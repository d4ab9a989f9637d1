"""The plans that transformers ships, against what the library itself does with them (fixtures/shipped_plans)."""

import json
import lzma
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from checking import FIXTURES, engine

from hplint.lint.diagnostic import Diagnostic
from hplint.lint.shipped_document import shipped_document
from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.resolve.topology import Topology
from hplint.resolve.tp_plan.shipped import shipped_plan
from hplint.targets.find import TargetFinder

FOLDER = FIXTURES / "shipped_plans"
GOLDEN = FIXTURES.parent / "tests" / "golden" / "shipped_plans.txt"
MESH = Topology(tp=2, mesh={"tp": 2})

_PER_LAYER = "the word asks the config for a size that this family has per layer"
NOT_FOUND = {
    "Dots3NoteConfig": _PER_LAYER,
    "Dots3NoteTextConfig": _PER_LAYER,
    "Gemma3nTextConfig": "a threshold is drawn from the mean over features that are cut",
    "Gemma4Config": "the model reads the weight of its embedding beside the embedding's forward",
    "Llama4TextConfig": "what a norm returned is written to in place",
}
"""Plans that do not run although nothing is found in them -> what stops them."""


@cache
def trees() -> dict[str, ModuleTree]:
    with lzma.open(FOLDER / "trees.json.xz", "rt", encoding="utf-8") as file:
        return {name: ModuleTree.from_json(tree) for name, tree in json.load(file).items()}


@cache
def verdicts() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "verdicts.json").read_text(encoding="utf-8"))["verdicts"]
    return found


def of_the_plan(name: str) -> str:
    """The verdict on the plan by itself: what the loader adds to it is not the plan's."""
    found = verdicts()[name]
    return str(found.get("cut_in_memory", found)["verdict"])


@cache
def findings() -> dict[str, list[Diagnostic]]:
    finder = TargetFinder([])
    return {n: engine().check(_plan(t), t, MESH, finder, ())[0] for n, t in trees().items() if shipped_plan(t)}


def _plan(tree: ModuleTree) -> Plan:
    return shipped_document(tree).plans[0]


def test_every_plan_is_put_together_as_the_library_does() -> None:
    composed = {n: {k: rule.word for k, rule in shipped_plan(t).items()} for n, t in trees().items()}
    assert len(composed) > 240
    assert composed == {n: verdicts()[n].get("plan", {}) for n in trees()}


def test_no_error_is_found_in_a_plan_that_runs() -> None:
    ran = [name for name in findings() if of_the_plan(name) in ("runs", "no-plan-applied")]
    assert len(ran) > 150
    wrong = {n: [d.code for d in findings()[n] if d.severity == "error"] for n in ran}
    assert {n: codes for n, codes in wrong.items() if codes} == {}


def test_every_plan_that_does_not_run_has_an_error_or_is_listed() -> None:
    refused = [n for n in findings() if of_the_plan(n) not in ("runs", "no-plan-applied", "cannot-run")]
    assert len(refused) > 10
    silent = {n for n in refused if not any(d.severity == "error" for d in findings()[n])}
    assert silent == set(NOT_FOUND)


def test_what_is_found_in_shipped_plans_is_reviewed(request: pytest.FixtureRequest) -> None:
    text = "\n".join(_lines()) + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def _lines() -> Iterator[str]:
    """Each model with the verdict on its plan; figures of coverage are left out."""
    for name in sorted(findings()):
        yield f"{name}: {of_the_plan(name)}"
        for found in findings()[name]:
            yield f"    {found.code} {found.severity} {found.message if found.severity != 'info' else ''}".rstrip()
