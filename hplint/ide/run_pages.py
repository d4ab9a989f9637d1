"""hplint rules test: runs all pages of a package of rules and tells what does not hold."""

import sys
from pathlib import Path
from typing import NamedTuple

from hplint.errors import RequestError
from hplint.ide.page_check import Problem, check_page, update_page
from hplint.ide.page_run import PageError, PageRunner
from hplint.ide.rule_page import Page, find_pages
from hplint.lint.registry import Registry, rules_in
from hplint.lint.rule_packages import BUILT_IN, find_packages
from hplint.report.writer import Writer
from hplint.text.near import near
from hplint.text.wording import listing, plural, quote


class Asked(NamedTuple):
    """``path`` is the folder of a package of rules, or one page in it."""

    path: Path
    trees: Path | None = None
    src: tuple[Path, ...] = ()
    update: bool = False


def run_pages(asked: Asked, writer: Writer) -> int:
    """Run the pages and tell what is wrong; the exit code. Raises RequestError for a path without pages of rules."""
    pages = _pages(asked.path)
    root, registry = _rules(pages[0].path)
    for folder in (*asked.src, *([asked.trees] if asked.trees else [])):
        if not folder.is_dir():
            raise RequestError(f"no such folder: {quote(folder.as_posix())}")
    trees = asked.trees or next((t for t in (root / "trees", root.parent / "trees") if t.is_dir()), Path("trees"))
    runner = PageRunner(registry, trees, trees.parent, asked.src)
    problems: list[tuple[Page, Problem]] = []
    for page in pages:
        if asked.update:
            try:
                if update_page(page, runner):
                    writer.lines([f"{page.path.as_posix()} is rewritten"])
            except PageError:
                pass  # Told below, with its place.
        problems += [(page, problem) for problem in check_page(page, runner)]
    bare = _without_page(root) if asked.path.is_dir() else []
    for page, problem in problems:
        place = writer.style.paint(f"{page.path.as_posix()}:{problem.line}", "path")
        writer.lines([f"{place}: {problem.message}", *(f"    {line}" for line in problem.detail)])
    writer.lines(f"{writer.style.paint(module.as_posix(), 'path')}: the rule has no page" for module in bare)
    failing = len({page.path for page, _ in problems}) + len(bare)
    holding = len(pages) - len({page.path for page, _ in problems})
    writer.lines([f"{plural(holding, 'page')} of rules {'holds' if holding == 1 else 'hold'}, {failing} not."])
    writer.flush()
    return 1 if failing else 0


def _pages(path: Path) -> list[Page]:
    if not path.exists():
        parent = path.parent
        names = near(path.name, (p.name for p in parent.iterdir())) if parent.is_dir() else []
        hint = f"did you mean {listing(((parent / n).as_posix() for n in names), 'or')}?" if names else ""
        raise RequestError(f"no such file or folder: {quote(path.as_posix())}", hint)
    pages = find_pages(path)
    if not pages or (path.is_file() and path.suffix != ".md"):
        hint = "a page stands beside its rule and has its stem, such as abc101_some_name.md"
        raise RequestError(f"{quote(path.as_posix())} holds no pages of rules", hint)
    return pages


def _rules(page: Path) -> tuple[Path, Registry]:
    """The folder of the package that a page belongs to, and the rules of that package with those of hplint."""
    page = page.resolve()
    installed = find_packages()
    for package in installed:
        for folder in package.roots:
            if page.is_relative_to(Path(folder).resolve()):
                return Path(folder).resolve(), Registry(tuple(p.name for p in installed))
    root = page.parent
    while (root.parent / "__init__.py").is_file():
        root = root.parent
    if not root.name.isidentifier() or not (root / "__init__.py").is_file():
        hint = "put an __init__.py into the folder of the package and into those of its rules"
        raise RequestError(f"{quote(page.parent.as_posix())} is no part of a Python package", hint)
    sys.path.insert(0, str(root.parent))
    return root, Registry((BUILT_IN, root.name))


def _without_page(root: Path) -> list[Path]:
    return [module for module in rules_in(root) if not module.with_suffix(".md").is_file()]
