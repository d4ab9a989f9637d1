"""Every rule page is run: bad plans give exactly the findings of their block, good plans give none.

A bad plan may be followed by what ``--fix`` makes of it (a block ``yaml fixed``) and by what ``--fix --unsafe-fixes``
makes of it (``yaml fixed unsafe``). ``pytest tests/test_rule_pages.py --update-pages`` rewrites the findings blocks and
the fixed ones, and adds one where a page that promises a fix has none yet; review them line by line.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from checking import FIXTURES, check_plans, check_text, fixture_tree, mesh_topology

from hplint.config.mesh import parse_mesh
from hplint.fix.loop import Checked, fix_text
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry
from hplint.lint.request import Request
from hplint.lint.session import lint
from hplint.model.tree import ModuleTree
from hplint.resolve.topology import Topology

RULES = Path(__file__).parent.parent / "rules"
PAGES = sorted(RULES.glob("*/hpl*.md"))
_BLOCK = re.compile(
    r"^```(\w+) (bad|good)([^\n]*)\n(.*?)^```\n"
    r"(?:\n?```findings\n(.*?)^```\n)?((?:\n?```\w+ fixed[^\n]*\n.*?^```\n)*)", re.M | re.S
)  # fmt: skip
_FIXED = re.compile(r"^```(\w+) fixed( unsafe)?\n(.*?)^```\n", re.M | re.S)
HEADINGS = ["## What it does", "## Why is this bad", "## Example", "## Use instead"]


class Block(NamedTuple):
    language: str
    bad: bool
    attributes: dict[str, str]
    text: str
    findings: str | None
    fixed: dict[bool, str]
    """Whether with unsafe fixes -> the text after fixing."""


def blocks(page: Path) -> list[Block]:
    found = []
    for m in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        attributes = dict(a.split("=", 1) for a in m[3].split())
        fixed = {bool(f[2]): f[3] for f in _FIXED.finditer(m[6])}
        found.append(Block(m[1], m[2] == "bad", attributes, m[4], m[5], fixed))
    return found


def front_matter(page: Path) -> dict[str, str]:
    return dict(line.split(": ") for line in page.read_text(encoding="utf-8").split("---\n")[1].splitlines())


def run(block: Block) -> list[Diagnostic]:
    if names_its_model(block):
        return list(lint(whole_run(block, block.text)).diagnostics)
    return check_text(block.text, *setting(block))[0]


def fix(block: Block, unsafe: bool) -> str:
    """The text after ``--fix``, or after ``--fix --unsafe-fixes``."""

    def check(text: str) -> Checked:
        if names_its_model(block):
            found = lint(whole_run(block, text))
            return Checked(found.diagnostics, found.plans)
        return check_plans(text, *setting(block))

    return fix_text(block.text, check, unsafe).text


def names_its_model(block: Block) -> bool:
    return "# hplint: model=" in block.text or "pretrained_model_name_or_path" in block.text


def setting(block: Block) -> tuple[Topology, ModuleTree | None, str]:
    """Topology, tree and suffix that the attributes of a block give."""
    given = dict(block.attributes)
    tree = fixture_tree(given.pop("model")) if "model" in given else None
    flags = {k: given.pop(k) == "true" for k in ("sequence_parallel", "loss_parallel", "derive") if k in given}
    numbers = {k: int(given.pop(k)) for k in ("ep", "seq_len") if k in given}
    sizes = given.pop("mesh", None)
    assert not given, f"unknown attributes {given}"
    flags.setdefault("sequence_parallel", block.language == "python")
    topology = mesh_topology(parse_mesh(sizes), **flags, **numbers) if sizes else Topology(**flags, **numbers)
    return topology, tree, {"yaml": ".yaml", "python": ".py", "json": ".json"}[block.language]


def whole_run(block: Block, text: str) -> Request:
    """The run of a plan that names its model itself, with paths relative to the fixtures."""
    name = str(FIXTURES / f"plan.{block.language}")
    return Request(("-",), stdin=text.encode(), stdin_filename=name, use_cache=False)


def spelled(diagnostics: list[Diagnostic]) -> str:
    lines = []
    for d in diagnostics:
        line, column = d.source.position(d.span.start)
        lines.append(f"{line}:{column}: {d.code} {d.message}\n")
    return "".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_shows_what_its_rule_finds(page: Path, request: pytest.FixtureRequest) -> None:
    code = page.stem[:6].upper()
    parts = blocks(page)
    assert any(b.bad for b in parts) and any(not b.bad for b in parts), "a page needs a bad and a good plan"
    for block in parts:
        found = run(block)
        if block.bad:
            assert code in {d.code for d in found}, f"{code} is not among {spelled(found)}"
            if request.config.getoption("--update-pages"):
                _update(page, block, spelled(found))
            else:
                assert spelled(found) == block.findings
        else:
            assert not [d for d in found if d.severity != "info" or d.code == code], spelled(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_shows_what_fixing_makes_of_its_plan(page: Path, request: pytest.FixtureRequest) -> None:
    promised = front_matter(page)["fix"]
    assert promised in ("safe", "unsafe", "none")
    kinds = set()
    for block in blocks(page):
        for unsafe in (False, True):
            if request.config.getoption("--update-pages") and block.bad:
                _update_fixed(page, block, unsafe, promised)
            elif unsafe in block.fixed:
                assert block.bad, "only a bad plan can be fixed"
                after = fix(block, unsafe)
                assert after == block.fixed[unsafe] != block.text
                assert fix(block._replace(text=after), unsafe) == after
                kinds.add(unsafe)
    if not request.config.getoption("--update-pages"):
        assert promised == ("safe" if False in kinds else "unsafe" if kinds else "none")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_and_its_rule_agree(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    front = front_matter(page)
    rule = Registry().get(front["code"])
    assert rule is not None and (rule.name, rule.severity) == (front["name"], front["severity"])
    assert page.stem == f"{rule.code.lower()}_{rule.name.replace('-', '_')}"
    assert f"# {rule.name} ({rule.code})\n" in text
    assert [h for h in HEADINGS if f"\n{h}\n" not in text] == []


def test_every_rule_has_a_page() -> None:
    assert [r.page for r in Registry() if not Path(r.page).exists()] == []


def _update(page: Path, block: Block, findings: str) -> None:
    text = page.read_text(encoding="utf-8")
    fence = f"{block.text}```\n"
    assert text.count(fence) == 1, "two blocks of a page must not have the same text"
    head, tail = text.split(fence)
    tail = re.sub(r"\A\n?```findings\n.*?^```\n", "", tail, flags=re.M | re.S)
    page.write_text(f"{head}{fence}```findings\n{findings}```\n{tail}", encoding="utf-8")


def _update_fixed(page: Path, block: Block, unsafe: bool, promised: str) -> None:
    """Rewrite one fixed block; add it where the page promises such a fix and the plan changes by it."""
    text = page.read_text(encoding="utf-8")
    head, fence, tail = text.partition(f"{block.text}```\n")
    findings = re.match(r"\n?```findings\n.*?^```\n", tail, re.M | re.S)
    at = findings.end() if findings else 0
    word = " unsafe" if unsafe else ""
    old = re.compile(rf"\n?```{block.language} fixed{word}\n.*?^```\n", re.M | re.S)
    other = re.match(rf"(?:\n?```\w+ fixed{'' if unsafe else ' unsafe'}\n.*?^```\n)?", tail[at:], re.M | re.S)
    assert other is not None
    at += other.end() if unsafe else 0
    shown = old.match(tail, at)
    new = ""
    if shown or promised == ("unsafe" if unsafe else "safe"):
        after = fix(block, unsafe)
        new = f"```{block.language} fixed{word}\n{after}```\n" if after != block.text else ""
    page.write_text(head + fence + tail[:at] + new + tail[shown.end() if shown else at :], encoding="utf-8")
