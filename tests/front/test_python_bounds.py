"""Python text of any size and depth is read within bounds."""

import pytest
from python_samples import cuts, faults, matches, read, the_plan

from hplint.front.python.machine import Machine


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "limit", 40_000)


@pytest.mark.parametrize("loop", ["range(1_000_000)", "range(10**9)", "range(10**30)", "range(0, 10**18, 3)"])
def test_a_huge_loop_is_left_unread(loop: str) -> None:
    text = f"plan = {{f'l{{i}}': ModuleShardingSpec() for i in {loop}}}"
    assert [rule for rule, _ in faults(text)] == ["not-evaluated"]
    text = f"plan = {{'a': ModuleShardingSpec()}}\nfor i in {loop}:\n    plan[f'l{{i}}'] = ModuleShardingSpec()"
    assert faults(text) == [("not-evaluated", loop)]


def test_ten_thousand_entries_are_read() -> None:
    assert len(the_plan("plan = {f'l{i}': ModuleShardingSpec() for i in range(10_000)}").entries) == 10_000


@pytest.mark.parametrize(
    "text",
    [
        "while True:\n    plan['b'] = S",
        "for i in range(20000):\n    for j in range(20000):\n        for k in range(20000):\n            x = i + j + k",
        "x = [i for i in range(9999) for j in range(9999) for k in range(9999)]",
        "def f():\n    return f()\nf()",
        "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nf(1)",
        "".join(f"def f{i}(): return f{i - 1}() + f{i - 1}()\n" for i in range(1, 40)) + "def f0(): ...\nf39()",
        "x = 'a'\nfor i in range(1000):\n    x = x + x",
        "x = [1]\nfor i in range(1000):\n    x = x + x",
        "x = [1]\nfor i in range(1000):\n    x.extend(x)",
        "x = (1, 1)\nfor i in range(1000):\n    x = (x, x)\ny = {x: 1}\nz = x == x\nw = str(x)\nv = sorted([x, x])",
        "x = []\nx.append(x)\nplan['b'] = ModuleShardingSpec(tp_divide_attrs=x)\ny = x == x",
        "x = {}\nx['x'] = x\nplan['b'] = ModuleShardingSpec(params=x)\nimport copy\ny = copy.deepcopy(x)",
        "x = {'w': {TP: Shard(0)}}\nfor i in range(60):\n    x = {'a': x, 'b': x}\nimport copy\n"
        "y = copy.deepcopy(x)\nplan['b'] = ModuleShardingSpec(params=x)",
        "x = 9\nfor i in range(100):\n    x = x ** x",
        "x = 1 << 10**9\ny = 10 ** 10 ** 10\nz = 'a' * 10**12\nw = [0] * 10**12",
        "x = '%1000000000d' % 1\ny = '{:1000000000}'.format(1)\nz = f'{1:1000000000}'\n"
        "w = '%*d' % (10**9, 1)\nv = 'a'.zfill(10**9)",
        "x = 'a' * 9999\ny = x.replace('a', x)\nz = x.join(x)",
        "x = int('9' * 4000)\ny = f'{x:{x}}'",
        "x = " + "[" * 150 + "]" * 150,
        "x = " + "f(" * 150 + ")" * 150,
        "x = a" + ".b" * 800,
        "x = " + " + ".join(["'a'"] * 800),
        "x = " + "lambda: " * 60 + "1",
        "if a:\n" + "".join(" " * i + "if a:\n" for i in range(1, 90)) + " " * 90 + "pass",
    ],
)  # fmt: skip
@pytest.mark.usefixtures("few_steps")
def test_what_would_never_end_is_stopped_and_the_plan_is_read(text: str) -> None:
    document = read(f"S = ModuleShardingSpec()\nplan = {{'a': S}}\n{text}\n")
    assert "a" in matches(document.plans[0])


@pytest.mark.usefixtures("few_steps")
def test_a_file_that_takes_too_many_steps_says_so() -> None:
    document = read(
        "plan = {'a': ModuleShardingSpec()}\nfor i in range(20000):\n    for j in range(20000):\n        x = i + j"
    )
    assert [rule for rule, _ in cuts(document, document.faults)] == ["not-evaluated"]
    assert matches(document.plans[0]) == ["a"]


@pytest.mark.usefixtures("few_steps")
def test_functions_that_name_a_plan_are_read_before_others() -> None:
    busy = "def busy():\n    for i in range(20000):\n        for j in range(20000):\n            x = i + j\n"
    document = read(f"{busy}def plan():\n    return {{'a': ModuleShardingSpec()}}\n")
    assert [matches(p) for p in document.plans] == [["a"]]


def test_a_file_of_many_functions_is_read() -> None:
    text = "".join(f"def f{i}(x):\n    return x\n" for i in range(2000)) + "plan = {'a': ModuleShardingSpec()}"
    assert matches(the_plan(text)) == ["a"]
