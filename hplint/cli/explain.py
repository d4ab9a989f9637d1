"""hplint explain: the page of a rule."""

import sys

import click

from hplint.cli.options import color_option, completed


@click.command()
@click.argument("codes", nargs=-1, required=True, metavar="CODE...", shell_complete=completed)
@color_option
def explain(codes: tuple[str, ...], color: str) -> int:
    """Explain rules, given by CODE (HPL101) or by name (unknown-module)."""
    from hplint.cli.rules import all_rules
    from hplint.report.explain import explain_rules
    from hplint.report.writer import Writer

    explain_rules(all_rules(), codes, Writer(sys.stdout, color))
    return 0
