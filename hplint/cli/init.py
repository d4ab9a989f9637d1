"""hplint init: the files with which CI, hooks and editors run hplint."""

import sys
from pathlib import Path, PurePath
from typing import Any

import click

from hplint.cli.options import run_options

TARGETS = ("github", "gitlab", "pre-commit", "vscode")


@click.command(short_help="Write files for CI, hooks and editors.")
@click.argument("target", type=click.Choice(TARGETS))
@run_options
@click.option("--stdout", is_flag=True, help="Print what would be written, and write nothing.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
def init(target: str, stdout: bool, force: bool, **given: Any) -> int:
    """Write what TARGET needs to run hplint: github, gitlab, pre-commit or vscode.

    Files that are there already are kept: JSON files get what they lack and keep their comments; for others hplint
    prints what to add, and exits with 2. --model and --mesh choose the names in the schema that vscode gets.
    """
    from hplint.ide.init import LEFT, write_pieces
    from hplint.report.writer import Writer

    pieces = _pieces(target, given)
    writer = Writer(sys.stdout)
    if stdout:
        for piece in pieces:
            writer.text((f"# {piece.path}\n" if len(pieces) > 1 else "") + piece.text)
        writer.flush()
        return 0
    outcomes = write_pieces(pieces, Path(), force)
    for piece, what in outcomes:
        if what != LEFT:
            writer.lines([f"{piece.path} is {what}" if what != "added to" else f"{piece.path} has what it lacked"])
    left = [piece for piece, what in outcomes if what == LEFT]
    for piece in left:
        writer.text(f"\n{piece.path} is there already; add this to it:\n\n{piece.text}")
    writer.flush()
    if not left:
        return 0
    from hplint.errors import RequestError
    from hplint.text.wording import listing, plural

    told = f"{plural(len(left), 'file')} left as {'it is' if len(left) == 1 else 'they are'}: "
    raise RequestError(told + listing(p.path for p in left), "add what is printed above, or replace with --force")


def _pieces(target: str, given: dict[str, Any]) -> list[Any]:
    from hplint.ide import workflows

    match target:
        case "github":
            return workflows.github()
        case "gitlab":
            return workflows.gitlab()
        case "pre-commit":
            return workflows.pre_commit()
    from hplint.cli.request import request
    from hplint.ide.write_schema import schema_for

    asked = request((".",), given)
    return workflows.vscode(_globs(asked), schema_for(asked))


def _globs(asked: Any) -> list[str]:
    """The YAML plans of this folder: what the configuration says, else the folders in which they are found."""
    from hplint.lint.collect import collect

    suffixes = (".yaml", ".yml")
    if asked.config and asked.config.plans:
        named = [glob for rule in asked.config.plans for glob in rule.files if glob.endswith(suffixes)]
        if named:
            return list(dict.fromkeys(named))
    found = [PurePath(d.source.path) for d in collect((".",), None, None).documents if d.plans]
    paths = [path for path in found if path.suffix in suffixes]
    return list(dict.fromkeys((path.parent / f"*{path.suffix}").as_posix() for path in paths))
