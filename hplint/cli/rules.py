"""hplint rules: the list of all rules, and the test of their pages."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hplint.cli.groups import LazyGroup
from hplint.cli.options import color_option

if TYPE_CHECKING:
    from hplint.lint.registry import Registry


def all_rules() -> "Registry":
    """The rules that a check would run."""
    from hplint.lint.registry import Registry
    from hplint.model.store import cache_folder

    return Registry(index_folder=cache_folder())


@click.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
def list_rules(form: str, color: str) -> int:
    """List all rules: code, name, severity, and what each reports."""
    from hplint.report.rules_table import rules_json, rules_table
    from hplint.report.writer import Writer

    writer = Writer(sys.stdout, color)
    if form == "json":
        writer.text(rules_json(all_rules()))
    else:
        writer.lines(rules_table(all_rules(), writer.style))
    writer.flush()
    return 0


@click.command("test")
@click.argument("path")
@click.option("--trees", metavar="DIR", help="Where model=NAME is NAME.json; PATH/trees by default, else ./trees.")
@click.option("--src", multiple=True, metavar="DIR", help="Where injected functions are looked up; may be repeated.")
@click.option("--update", is_flag=True, help="Rewrite the findings and fixed blocks of the pages; review what changes.")
@color_option
def test_pages(path: str, trees: str | None, src: tuple[str, ...], update: bool, color: str) -> int:
    """Run the pages of the rules in PATH: the folder of a package of rules, or one page.

    Bad plans must give the findings on their page, good plans none, and fixing must give what the page shows. Exits
    with 0 when all pages hold, 1 when one does not. Imports the rules in PATH.
    """
    from hplint.ide.run_pages import Asked, run_pages
    from hplint.report.writer import Writer

    asked = Asked(Path(path), Path(trees) if trees else None, tuple(Path(s) for s in src), update)
    return run_pages(asked, Writer(sys.stdout, color))


rules = LazyGroup(
    "rules",
    {
        "list": ("hplint.cli.rules:list_rules", "List all rules (this is what hplint rules does)."),
        "test": ("hplint.cli.rules:test_pages", "Run the pages of a package of rules."),
    },
    default="list",
    help="List all rules, or run the pages of a package of rules.\n\n`hplint rules` is short for `hplint rules list`.",
)
