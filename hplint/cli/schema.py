"""hplint schema: a JSON Schema for plan files."""

import sys
from typing import Any

import click

from hplint.cli.options import run_options


@click.command(short_help="Write a JSON Schema for plan files.")
@run_options
@click.option("--format", "form", type=click.Choice(["json"]), default="json", show_default=True)
@click.option("-o", "--output", metavar="FILE", default="-", help="File to write; the standard output by default.")
def schema(form: str, output: str, **given: Any) -> int:
    """Write a JSON Schema for plan files: editors complete and explain by it.

    With a model (--model, else that of the configuration) the module names, parameters and inputs are its own; with
    --mesh the axes are those of the mesh.
    """
    import json

    from hplint.cli.request import request
    from hplint.ide.write_schema import schema_for
    from hplint.report.writer import Writer, write_file

    text = json.dumps(schema_for(request((), given)), indent=1, ensure_ascii=False) + "\n"
    if output == "-":
        writer = Writer(sys.stdout)
        writer.text(text)
        writer.flush()
    else:
        write_file(output, text)
    return 0
