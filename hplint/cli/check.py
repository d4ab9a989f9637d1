"""hplint check: find what is wrong with plans."""

import sys
from typing import Any

import click

from hplint.cli.options import (
    accept_options,
    apply_options,
    color_option,
    fix_options,
    option,
    plan_option,
    run_options,
)
from hplint.config.options import BY_NAME

FORMATS = BY_NAME["output-format"].kind.split("|")
APPLYING = ("verify", "dry_run", "batch", "nproc", "mode", "inputs", "applier", "seed", "time_limit", "plan")
"""Options that say how to apply."""
CHANGING = ("fix", "diff", "add_ignore", "show_files")
"""Options that are about files."""


@click.command(short_help="Check plans.")
@click.argument("paths", nargs=-1)
@click.option("--stdin-filename", metavar="NAME", help="The name of the text that is read from -.")
@run_options
@plan_option
@option("reader")
@option("select")
@option("ignore")
@option("extend-select")
@option("per-file-ignores")
@option("severity")
@option("skip-planless")
@option("fail-on")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option(
    "--output-format",
    multiple=True,
    metavar="FORMAT[:FILE]",
    shell_complete=lambda context, parameter, start: [f for f in FORMATS if f.startswith(start)],
    help=f"{BY_NAME['output-format'].doc} With :FILE it goes to a file; may be given several times. Nothing chosen "
    "inside GitHub Actions: full, and annotations.",
)
@click.option("--output-file", metavar="FILE", help="The file for the format that is given without one.")
@fix_options
@accept_options
@apply_options
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--show-files", is_flag=True, help="List the files that hold plans, and check nothing.")
@click.option("--watch", is_flag=True, help="Check again after each change; needs the package watchfiles.")
@click.option("-q", "--quiet", is_flag=True, help="Findings alone: no summary, no notes.")
@click.option("-v", "--verbose", is_flag=True, help="Also say what happens at run time, and name all modules.")
@color_option
def check(paths: tuple[str, ...], stdin_filename: str | None, **given: Any) -> int:
    """Check the plans in PATHS: files, folders (the current one by default), or - for the standard input.

    Exits with 0 when all is well, 1 when something was found, 2 when the request is wrong, 3 for a fault of hplint.
    """
    if given["apply"] and given["watch"]:
        from hplint.errors import RequestError

        raise RequestError("--watch and --apply exclude each other")
    if given.pop("watch"):
        from hplint.cli.watch import watch

        return watch(paths or (".",), stdin_filename, given)
    _refuse_alone(given)
    from hplint.cli.request import request
    from hplint.cli.status import WRONG_REQUEST, exit_code
    from hplint.cli.telling import tell
    from hplint.report.deliver import Wishes
    from hplint.report.formats import choose_outputs
    from hplint.report.writer import Writer

    asked = request(paths or (() if given["tp_plan"] else (".",)), given, stdin_filename)
    writer = Writer(sys.stdout, given["color"])
    if given["show_files"] and not given["apply"]:
        from hplint.lint.collect import collect

        found = collect(asked.paths, asked.stdin, asked.stdin_filename, asked.skip_planless)
        writer.lines(d.source.path for d in found.documents)
        return 0
    unsafe, counting = given["unsafe_fixes"], given["statistics"]
    configured = asked.config.output_format if asked.config and not given["apply"] else None
    outputs = choose_outputs(given["output_format"], given["output_file"], configured, counting)
    wishes = Wishes(outputs, counting, given["quiet"], given["verbose"], unsafe, asked.use_cache)
    errors = Writer(sys.stderr, given["color"])
    fail_on = given["fail_on"] or (asked.config and asked.config.fail_on) or "warning"
    if given["apply"]:
        from hplint.cli.apply import apply_plan

        return apply_plan(asked, given, wishes, writer, errors)
    if given["add_ignore"] or given["write_baseline"] or given["reason"] is not None:
        from hplint.cli.accepting import accept

        return accept(asked, given, wishes, fail_on, writer, errors)
    if given["fix"] or given["diff"]:
        from hplint.cli.fixing import fix_plans, show_diff

        if given["diff"]:
            return show_diff(asked, unsafe, given["quiet"], writer, errors)
        run, failed = fix_plans(asked, unsafe, writer, errors)
        tell(run, wishes, errors if "-" in asked.paths else writer, errors)
        return WRONG_REQUEST if failed else exit_code(run, fail_on, given["exit_zero"])
    from hplint.lint.session import lint

    run = lint(asked)
    tell(run, wishes, writer, errors)
    return exit_code(run, fail_on, given["exit_zero"])


def _refuse_alone(given: dict[str, Any]) -> None:
    """Raise RequestError for options that mean nothing without another one, or beside it."""
    from hplint.errors import RequestError

    alone = next((n for n in APPLYING if given[n] is not None and given[n] is not False), None)
    if alone and not given["apply"]:
        name = alone.replace("_", "-")
        raise RequestError(f"--{name} says how to apply a plan, but --apply is not given", "add --apply")
    changing = next((n for n in CHANGING if given[n]), None)
    if changing and given["tp_plan"]:
        name = changing.replace("_", "-")
        raise RequestError(f"--{name} changes files, and the plan of --tp-plan builtin stands in none")
