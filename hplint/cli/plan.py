"""hplint plan: what plans come to."""

import sys
from typing import Any

import click

from hplint.cli.groups import LazyGroup
from hplint.cli.options import color_option, plan_option, run_options


@click.command()
@click.argument("file", required=False)
@click.option("--stdin-filename", metavar="NAME", help="The name of the text that is read from -.")
@run_options
@plan_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@color_option
def show(file: str | None, stdin_filename: str | None, form: str, **given: Any) -> int:
    """Show the resolved plan of FILE: boundaries, layouts, communication, and where each value came from.

    Faults of the plan go to the standard error stream; the exit code is then 1.
    """
    from hplint.cli.request import request
    from hplint.cli.status import exit_code
    from hplint.errors import RequestError
    from hplint.lint.session import lint
    from hplint.report.deliver import deliver_plan
    from hplint.report.writer import Writer

    if file is None and not given["tp_plan"]:
        raise RequestError("FILE is missing", "name a plan, or add --tp-plan builtin; see hplint plan show --help")
    run = lint(request((file,) if file else (), given, stdin_filename))
    deliver_plan(run, form, Writer(sys.stdout, given["color"]), Writer(sys.stderr, given["color"]))
    return exit_code(run, "error")


plan = LazyGroup(
    "plan", {"show": ("hplint.cli.plan:show", "Show the resolved plan.")}, help="Show what a plan comes to."
)
