"""Fixing random damage: plans of the runtime's verdicts, written in random styles, with slips in them."""

import re
from functools import partial
from random import Random
from typing import Any

import yaml
from checking import check_plans, fixture_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_writer import PlanWriter
from test_conformance import cases, topology_of

from hplint.fix.edit import difference
from hplint.fix.loop import Checked, fix_text

_WORD = re.compile(r"[A-Za-z_]{3,}|[a-z]{2}(?=:)|shard\(\d\)")


def damaged(text: str, rng: Random) -> str:
    """The text with a few slips: letters swapped, dropped or doubled, another case, words that stand elsewhere."""
    for _ in range(rng.randint(1, 3)):
        words = [
            m for m in _WORD.finditer(text) if "# note" not in text[text.rfind("\n", 0, m.start()) + 1 : m.start()]
        ]
        found = rng.choice(words)
        word, at = found[0], rng.randrange(len(found[0]) - 1)
        slip = rng.choice([
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word.upper(),
            rng.choice(words)[0],
            "null",
        ])  # fmt: skip
        text = text[: found.start()] + slip + text[found.end() :]
    return text


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=120, deadline=None, report_multiple_bugs=False)
def test_fixing_random_damage_keeps_its_promises(seed: int, unsafe: bool) -> None:
    check_damage(seed, unsafe)


def check_damage(seed: int, unsafe: bool) -> None:
    rng = Random(seed)
    case = rng.choice(cases())
    tree, topology = fixture_tree(case["model"]), topology_of(case)
    data: dict[str, Any] = {"plan_overrides": case["entries"]}
    text = damaged(PlanWriter(rng).write(data), rng)
    check = partial(check_plans, topology=topology, tree=tree)
    before = check(text)
    fixed = fix_text(text, check, unsafe)
    told = f"{text}\n=====\n{fixed.text}"
    after = check(fixed.text)
    assert [d.message for d in after.diagnostics] == [d.message for d in fixed.checked.diagnostics]
    assert fix_text(fixed.text, check, unsafe).text == fixed.text, told
    assert not new_errors(before, after), told
    if fixed.text == text:
        return
    yaml.safe_load(fixed.text)
    assert fixed.text.endswith("\n") == text.endswith("\n"), told
    assert fixed.text.startswith("\ufeff") == text.startswith("\ufeff")
    assert fixed.text.count("\r\n") in (0, fixed.text.count("\n")), told
    # Whatever line no edit comes near is as it was; comments go only with lines that go.
    touched = {line for e in difference(text, fixed.text) for line in lines_of(text, e.span.start, e.span.end)}
    kept = [line for number, line in enumerate(text.split("\n")) if number not in touched]
    rest = iter(fixed.text.split("\n"))
    assert all(any(line == other for other in rest) for line in kept), told


def lines_of(text: str, start: int, end: int) -> range:
    return range(text.count("\n", 0, start), text.count("\n", 0, end) + 1)


def new_errors(before: Checked, after: Checked) -> set[str]:
    codes = [sorted(d.code for d in c.diagnostics if d.severity == "error") for c in (before, after)]
    return {code for code in codes[1] if codes[1].count(code) > codes[0].count(code)}
