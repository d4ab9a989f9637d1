"""hplint rules: the list of all rules."""

import sys
from typing import TYPE_CHECKING

import click

from hplint.cli.options import color_option

if TYPE_CHECKING:
    from hplint.lint.registry import Registry


def all_rules() -> "Registry":
    """The rules that a check would run."""
    from hplint.lint.registry import Registry
    from hplint.model.store import cache_folder

    return Registry(index_folder=cache_folder())


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
def rules(form: str, color: str) -> int:
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
