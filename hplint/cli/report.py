"""hplint report: a plan as a page."""

import sys
from typing import Any

import click

from hplint.cli.options import color_option, option, plan_option, run_options


@click.command()
@click.argument("paths", nargs=-1)
@click.option("-o", "--output", metavar="FILE", required=True, help="Where the page goes; - is the standard output.")
@click.option(
    "--batch", type=click.IntRange(min=1), default=1, metavar="N", help="Sequences of one data-parallel rank."
)
@click.option("--stdin-filename", metavar="NAME", help="The name of the text that is read from -.")
@run_options
@plan_option
@option("select")
@option("ignore")
@option("extend-select")
@option("per-file-ignores")
@option("severity")
@option("fail-on")
@option("baseline")
@color_option
def report(paths: tuple[str, ...], output: str, batch: int, stdin_filename: str | None, **given: Any) -> int:
    """Write the plans in PATHS as one HTML page: modules and their layouts, memory and communication, findings.

    The page needs no network. What is found decides the exit code, as in check; the page is written all the same.
    """
    from hplint.cli.request import request
    from hplint.cli.status import exit_code
    from hplint.errors import RequestError
    from hplint.fix.propose import realise_all
    from hplint.lint.session import lint
    from hplint.report.page_data import page_data
    from hplint.report.plan_page import plan_page
    from hplint.report.summary import summary
    from hplint.report.writer import Writer, refuse_unwritable, write_file

    if not paths and not given["tp_plan"]:
        raise RequestError("PATHS is missing", "name plans, or add --tp-plan builtin; see hplint report --help")
    if output != "-":
        refuse_unwritable(output)
    asked = request(paths, given, stdin_filename)
    run = realise_all(lint(asked))
    if not run.plans and not run.diagnostics:
        raise RequestError(f"no plan in {run.without_plan[0] if run.without_plan else paths[0]}")
    page = plan_page(page_data(run, batch, given["seq_len"]))
    errors = Writer(sys.stderr, given["color"])
    if output == "-":
        out = Writer(sys.stdout, "never")
        out.text(page)
        out.flush()
    else:
        write_file(output, page)
    errors.lines(summary(run, errors.style, False))
    errors.flush()
    return exit_code(run, given["fail_on"] or (asked.config and asked.config.fail_on) or "warning")
