"""Whether a rule's page says what the rule does: its plans are run, and what it promises is compared."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import NamedTuple

from hplint.ide.page_run import PageError, PageRunner, spelled
from hplint.ide.rule_page import HEADINGS, Block, Page

FIXES = ("safe", "unsafe", "none")


class Problem(NamedTuple):
    """What a page has wrong: the 1-based line, what it is, and lines that show it."""

    line: int
    message: str
    detail: tuple[str, ...] = ()


def check_page(page: Page, runner: PageRunner) -> list[Problem]:
    """Everything that is wrong with a page, in reading order."""
    problems = list(_head(page, runner))
    try:
        problems += _plans(page, runner)
    except PageError as error:
        problems.append(Problem(1, str(error)))
    return sorted(problems)


def update_page(page: Page, runner: PageRunner) -> bool:
    """Rewrite the findings and fixed blocks of a page, adding those that are missing; whether it changed."""
    before, promised = page.text, page.front_matter.get("fix")
    for number in range(len(page.blocks())):
        block = page.blocks()[number]
        if not block.bad:
            continue
        page.write_findings(block, spelled(list(runner.check(block, block.text).diagnostics)))
        for unsafe in (False, True):
            if unsafe in block.fixed or promised == ("unsafe" if unsafe else "safe"):
                after = runner.fix(block, block.text, unsafe)
                page.write_fixed(page.blocks()[number], unsafe, after if after != block.text else None)
    return page.text != before


def _head(page: Page, runner: PageRunner) -> Iterator[Problem]:
    front, text = page.front_matter, page.text
    missing = [key for key in ("code", "name", "severity", "fix") if key not in front]
    if missing:
        yield Problem(1, f"the front matter lacks {', '.join(missing)}")
        return
    rule = runner.registry.get(front["code"])
    if rule is None:
        yield Problem(1, f"there is no rule {front['code']}")
        return
    if (rule.name, rule.severity) != (front["name"], front["severity"]):
        yield Problem(
            1, f"the rule is {rule.name} ({rule.severity}), the page says {front['name']} ({front['severity']})"
        )
    stem = f"{rule.code.lower()}_{rule.name.replace('-', '_')}"
    if page.path.stem != stem:
        yield Problem(1, f"the page of {rule.code} {rule.name} must be {stem}.md")
    if f"# {rule.name} ({rule.code})\n" not in text:
        yield Problem(1, f"the title `# {rule.name} ({rule.code})` is missing")
    for heading in HEADINGS:
        if f"\n{heading}\n" not in text:
            yield Problem(1, f"the section `{heading}` is missing")
    if front["fix"] not in FIXES:
        yield Problem(1, f"fix is one of {', '.join(FIXES)}, not {front['fix']}")


def _plans(page: Page, runner: PageRunner) -> Iterator[Problem]:
    blocks = page.blocks()
    for word, found in (("bad", any(b.bad for b in blocks)), ("good", any(not b.bad for b in blocks))):
        if not found:
            yield Problem(1, f"a page needs a {word} plan")
    kinds: set[bool] = set()
    for block in blocks:
        yield from _findings(page, block, runner)
        yield from _fixes(block, runner)
        kinds.update(block.fixed)
    shown = "safe" if False in kinds else "unsafe" if kinds else "none"
    promised = page.front_matter.get("fix", shown)
    if promised in FIXES and promised != shown:
        yield Problem(1, f"the front matter promises fix: {promised}, the fixed blocks show {shown}")


def _findings(page: Page, block: Block, runner: PageRunner) -> Iterator[Problem]:
    try:
        found = list(runner.check(block, block.text).diagnostics)
    except PageError as error:
        yield Problem(block.line, str(error))
        return
    if not block.bad:
        extra = [d for d in found if d.severity != "info" or d.code == page.code]
        if extra:
            yield Problem(block.line, "a good plan has findings", tuple(spelled(extra).splitlines()))
        return
    if page.code not in {d.code for d in found}:
        yield Problem(block.line, f"{page.code} does not report this plan", tuple(spelled(found).splitlines()))
    elif spelled(found) != block.findings:
        detail = _difference(block.findings or "", spelled(found))
        yield Problem(block.line, "the findings of this plan are others than its findings block says", detail)


def _fixes(block: Block, runner: PageRunner) -> Iterator[Problem]:
    for unsafe, shown in sorted(block.fixed.items()):
        what = "--fix --unsafe-fixes" if unsafe else "--fix"
        try:
            after = runner.fix(block, block.text, unsafe)
            again = runner.fix(block, after, unsafe)
        except PageError:
            return  # Told with the findings.
        if not block.bad:
            yield Problem(block.line, "only a bad plan can be fixed")
        elif after != shown:
            yield Problem(block.line, f"{what} makes something else of this plan", _difference(shown, after))
        elif after == block.text:
            yield Problem(block.line, f"{what} changes nothing in this plan")
        elif again != after:
            yield Problem(block.line, f"{what} changes its own result again", _difference(after, again))


def _difference(written: str, found: str) -> tuple[str, ...]:
    lines = unified_diff(written.splitlines(), found.splitlines(), "on the page", "found", lineterm="", n=1)
    return tuple(lines)[2:]
