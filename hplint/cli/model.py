"""hplint model: module trees."""

import sys
from typing import Any

import click

from hplint.cli.groups import LazyGroup
from hplint.cli.options import color_option, source_options


@click.command()
@click.argument("spec")
@source_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Levels of modules to show; all by default.")
@color_option
def show(spec: str, form: str, depth: int | None, color: str, **given: Any) -> int:
    """Show the modules, classes and shapes of the model SPEC, equal layers folded."""
    from hplint.cli.request import request
    from hplint.lint.session import load_model
    from hplint.report.model_show import model_show, tree_json
    from hplint.report.writer import Writer

    tree = load_model(spec, request((), given))
    writer = Writer(sys.stdout, color)
    if form == "json":
        writer.text(tree_json(tree))
    else:
        writer.lines(model_show(tree, writer.style, depth))
    writer.flush()
    return 0


@click.command()
@click.argument("spec")
@click.option("-o", "--output", metavar="FILE", required=True, help="File to write, or - for the standard output.")
@source_options
def build(spec: str, output: str, **given: Any) -> int:
    """Build the model SPEC on the meta device and write its module tree, for --model tree:FILE."""
    from hplint.cli.request import request
    from hplint.lint.session import load_model
    from hplint.report.model_show import tree_json
    from hplint.report.writer import Writer, write_file

    text = tree_json(load_model(spec, request((), given)))
    if output == "-":
        writer = Writer(sys.stdout)
        writer.text(text)
        writer.flush()
    else:
        write_file(output, text)
    return 0


model = LazyGroup(
    "model",
    {
        "show": ("hplint.cli.model:show", "Show the module tree of a model."),
        "build": ("hplint.cli.model:build", "Write the module tree of a model to a file."),
    },
    help="Show or write the module tree of a model.",
)
