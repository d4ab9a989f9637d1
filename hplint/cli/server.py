"""hplint server: checks plans while they are written."""

import click

from hplint.errors import RequestError


@click.command()
@click.option("--stdio", is_flag=True, help="Speak over standard input and output: the default, and the only way.")
def server(stdio: bool) -> int:
    """Serve an editor over standard input and output, by the language server protocol.

    Models are built only where the client says that the workspace is trusted: the initialization option
    {"trusted": true}.
    """
    try:
        import pygls  # noqa: F401
    except ImportError:
        raise RequestError("the language server needs the package pygls", "pip install 'hplint[lsp]'") from None
    from hplint.ide.lsp.server import serve

    return serve()
