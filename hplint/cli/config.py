"""hplint config: the settings that count, and where each comes from."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hplint.cli.groups import LazyGroup
from hplint.cli.options import color_option, option, source_options
from hplint.config.options import names

_OF_SOURCE = ("src", "build-timeout")


def _all_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Every option of the table that the command line takes."""
    for name in reversed([n for n in names("cli") if n not in _OF_SOURCE]):
        function = option(name)(function)
    return function


@click.command()
@click.argument("file", required=False)
@_all_options
@source_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--docs", is_flag=True, help="Print the table of all options in Markdown instead.")
@color_option
@click.pass_context
def show(context: click.Context, /, file: str | None, form: str, docs: bool, color: str, **given: Any) -> int:
    """Show every option, its value, and where that comes from: the command line, a directive, the configuration file.

    With FILE, a plan: what counts for that plan. With a folder (by default this one): what counts there, and what the
    configuration says of some plans alone.
    """
    from hplint.cli.request import request
    from hplint.config.load import read_table
    from hplint.config.origin import plans_tables, settings
    from hplint.report.config_show import config_json, config_show, options_table
    from hplint.report.writer import Writer

    writer = Writer(sys.stdout, color)
    if docs:
        writer.text(options_table())
        writer.flush()
        return 0
    asked = request((file or ".",), given)
    file = None if file and Path(file).is_dir() else file
    config = asked.config
    table = read_table(Path(config.path)) if config and config.path else None
    # The globs of plans tables count from the folder of the configuration file.
    relative = os.path.relpath(file, config.base).replace(os.sep, "/") if file and config else None
    found = settings(table, _from_command_line(context), _directives(file), relative)
    path = config.path if config else None
    if form == "json":
        writer.text(config_json(path, file, found, plans_tables(table)))
    else:
        writer.lines(config_show(path, file, found, plans_tables(table), writer.style))
    writer.flush()
    return 0


def _from_command_line(context: click.Context) -> dict[str, Any]:
    """What the command line says, by the names of the table of options."""
    source = click.core.ParameterSource.COMMANDLINE
    said = {}
    for name in names("cli"):
        parameter = name.replace("-", "_")
        if parameter in context.params and context.get_parameter_source(parameter) == source:
            said[name] = context.params[parameter]
    return said


def _directives(file: str | None) -> list[Any]:
    """What the plan itself says. Raises RequestError where there is no such file."""
    if file is None:
        return []
    from hplint.config.origin import Said
    from hplint.lint.collect import collect

    return [
        Said(d.key, d.value, document.source.path, document.source.position(d.span.start).line)
        for document in collect((file,), None, None).documents
        for d in document.directives
    ]


config = LazyGroup(
    "config",
    {"show": ("hplint.cli.config:show", "Show every option, its value, and where that comes from.")},
    help="Show the settings that count.",
)
