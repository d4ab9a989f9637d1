"""The page of a rule as its tests read it: front matter, plans, what is found in them, what fixing makes of them.

A ``bad`` plan is followed by a ``findings`` block, and maybe by what ``--fix`` makes of it (a block ``yaml fixed``) and
by what ``--fix --unsafe-fixes`` makes of it (``yaml fixed unsafe``). ``good`` plans stand alone. Attributes after the
word say what a plan is checked against: ``yaml bad model=toy mesh=dp=2,tp=2``.
"""

import re
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(
    r"^```(\w+) (bad|good)([^\n]*)\n(.*?)^```\n"
    r"(?:\n?```findings\n(.*?)^```\n)?((?:\n?```\w+ fixed[^\n]*\n.*?^```\n)*)", re.M | re.S
)  # fmt: skip
_FIXED = re.compile(r"^```(\w+) fixed( unsafe)?\n(.*?)^```\n", re.M | re.S)
_STEM = re.compile(r"[a-z]{2,6}\d{3}_[a-z0-9_]+\.md")
_FINDINGS = re.compile(r"\A\n?```findings\n.*?^```\n", re.M | re.S)
HEADINGS = ("## What it does", "## Why is this bad", "## Example", "## Use instead")
SUFFIXES = {"yaml": ".yaml", "python": ".py", "json": ".json"}


class Block(NamedTuple):
    """One plan of a page. ``line`` is that of its fence; ``fixed`` maps whether unsafe fixes are applied to the text
    after fixing."""

    line: int
    language: str
    bad: bool
    attributes: dict[str, str]
    text: str
    findings: str | None
    fixed: dict[bool, str]


class Page:
    """One page, read anew from its file with every look."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def code(self) -> str:
        """The code that the file's name says."""
        return self.path.stem.partition("_")[0].upper()

    @property
    def front_matter(self) -> dict[str, str]:
        """Key -> value; empty where the page does not begin with any."""
        parts = self.text.split("---\n", 2)
        if len(parts) < 3 or parts[0]:
            return {}
        pairs = (line.partition(":") for line in parts[1].splitlines())
        return {key.strip(): value.strip() for key, colon, value in pairs if colon}

    def blocks(self) -> list[Block]:
        """The plans of the page, in order."""
        text = self.text
        found = []
        for m in _BLOCK.finditer(text):
            attributes = dict(a.partition("=")[::2] for a in m[3].split())
            fixed = {bool(f[2]): f[3] for f in _FIXED.finditer(m[6])}
            line = text.count("\n", 0, m.start()) + 1
            found.append(Block(line, m[1], m[2] == "bad", attributes, m[4], m[5], fixed))
        return found

    def write_findings(self, block: Block, findings: str) -> None:
        """Replace the findings block of a plan, or add one."""
        head, fence, tail = self._around(block)
        self._write(f"{head}{fence}```findings\n{findings}```\n{_FINDINGS.sub('', tail)}")

    def write_fixed(self, block: Block, unsafe: bool, after: str | None) -> None:
        """Replace or add what fixing makes of a plan; None takes the block out."""
        head, fence, tail = self._around(block)
        findings = _FINDINGS.match(tail)
        at = findings.end() if findings else 0
        if unsafe and (safe := _fixed_block(block.language, False).match(tail, at)):
            at = safe.end()
        shown = _fixed_block(block.language, unsafe).match(tail, at)
        word = " unsafe" if unsafe else ""
        new = "" if after is None else f"```{block.language} fixed{word}\n{after}```\n"
        self._write(head + fence + tail[:at] + new + tail[shown.end() if shown else at :])

    def _around(self, block: Block) -> tuple[str, str, str]:
        fence = f"{block.text}```\n"
        text = self.text
        start = text.index(fence, sum(map(len, text.splitlines(keepends=True)[: block.line])))
        return text[:start], fence, text[start + len(fence) :]

    def _write(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8")


def find_pages(folder: Path) -> list[Page]:
    """The pages of the rules below a folder, or the one that is named, in name order."""
    if folder.is_file():
        return [Page(folder)]
    return [Page(path) for path in sorted(folder.rglob("*.md")) if _STEM.fullmatch(path.name)]


def _fixed_block(language: str, unsafe: bool) -> re.Pattern[str]:
    return re.compile(rf"\n?```{language} fixed{' unsafe' if unsafe else ''}\n.*?^```\n", re.M | re.S)
