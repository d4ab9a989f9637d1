"""Every rule page is run: bad plans give exactly the findings of their block, good plans give none.

``pytest tests/test_rule_pages.py --update-pages`` rewrites the findings blocks; review them line by line.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from checking import FIXTURES, check_text, fixture_tree, mesh_topology

from hplint.config.mesh import parse_mesh
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.registry import Registry
from hplint.lint.request import Request
from hplint.lint.session import lint
from hplint.resolve.topology import Topology

RULES = Path(__file__).parent.parent / "rules"
PAGES = sorted(RULES.glob("*/hpl*.md"))
_BLOCK = re.compile(r"^```(\w+) (bad|good)([^\n]*)\n(.*?)^```\n(?:\n?```findings\n(.*?)^```\n)?", re.M | re.S)
HEADINGS = ["## What it does", "## Why is this bad", "## Example", "## Use instead"]


class Block(NamedTuple):
    language: str
    bad: bool
    attributes: dict[str, str]
    text: str
    findings: str | None


def blocks(page: Path) -> list[Block]:
    found = []
    for m in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        attributes = dict(a.split("=", 1) for a in m[3].split())
        found.append(Block(m[1], m[2] == "bad", attributes, m[4], m[5]))
    return found


def run(block: Block) -> list[Diagnostic]:
    if "# hplint: model=" in block.text or "pretrained_model_name_or_path" in block.text:
        return run_whole(block)
    given = dict(block.attributes)
    tree = fixture_tree(given.pop("model")) if "model" in given else None
    flags = {k: given.pop(k) == "true" for k in ("sequence_parallel", "loss_parallel", "derive") if k in given}
    numbers = {k: int(given.pop(k)) for k in ("ep", "seq_len") if k in given}
    sizes = given.pop("mesh", None)
    assert not given, f"unknown attributes {given}"
    flags.setdefault("sequence_parallel", block.language == "python")
    topology = mesh_topology(parse_mesh(sizes), **flags, **numbers) if sizes else Topology(**flags, **numbers)
    suffix = {"yaml": ".yaml", "python": ".py", "json": ".json"}[block.language]
    return check_text(block.text, topology, tree, suffix)[0]


def run_whole(block: Block) -> list[Diagnostic]:
    """A plan that names its model itself: a whole run, with paths relative to the fixtures."""
    name = str(FIXTURES / f"plan.{block.language}")
    return list(lint(Request(("-",), stdin=block.text.encode(), stdin_filename=name, use_cache=False)).diagnostics)


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
def test_a_page_and_its_rule_agree(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    front = dict(line.split(": ") for line in text.split("---\n")[1].splitlines())
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
