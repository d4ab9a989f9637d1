"""hplint completion: what a shell needs to complete command lines of hplint, and the answers when it asks."""

import os
import sys
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from hplint.config.mesh import MESH_AXES
from hplint.model.spec import KINDS

VARIABLE = "_HPLINT_COMPLETE"
"""What the script of a shell sets when it asks: the shell and what it wants, such as ``bash_complete``."""
SHELLS = ("bash", "zsh", "fish")
Items = list[CompletionItem[str]]


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print what makes SHELL complete commands, options and their values.

    \b
    bash   hplint completion bash > ~/.local/share/bash-completion/completions/hplint
    zsh    hplint completion zsh > a folder of $fpath, as _hplint
    fish   hplint completion fish > ~/.config/fish/completions/hplint.fish

    For one session: eval "$(hplint completion bash)"; in fish: hplint completion fish | source
    """
    from hplint.cli.main import command_line
    from hplint.report.writer import Writer

    script = _class(shell)(command_line(), {}, "hplint", VARIABLE)
    writer = Writer(sys.stdout)
    # The script alone: click's own classes look for a shell first, and complain when they find another one.
    writer.text(ShellComplete.source(script))
    writer.flush()
    return 0


def answer(cli: click.Command) -> int:
    """Answer what the script of a shell asks through the environment. What cannot be completed has no answer."""
    shell, _, wanted = os.environ.get(VARIABLE, "").partition("_")
    if shell not in SHELLS or wanted != "complete":
        return 2
    try:
        text = _class(shell)(cli, {}, "hplint", VARIABLE).complete()
    except Exception:  # A half-written line may be anything, and nobody wants a traceback in the prompt.
        return 0
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.flush()
    return 0


def _class(shell: str) -> type[ShellComplete]:
    base = get_completion_class(shell)
    assert base is not None

    class WithFiles(base):  # type: ignore[valid-type,misc]
        """Completes paths wherever nothing else is known."""

        def get_completions(self, args: list[str], incomplete: str) -> Items:
            found: Items = super().get_completions(args, incomplete)
            if found or incomplete.startswith("-"):
                return found
            return [CompletionItem(incomplete, type="file")]

    return WithFiles


def paths_here(incomplete: str) -> Items:
    """Plan files and folders of the current folder, for a place where commands may stand as well: shells complete
    either paths by themselves or what they are told."""
    from hplint.lint.collect import SUFFIXES

    with os.scandir(".") as entries:
        named = sorted((e.name, e.is_dir()) for e in entries if e.name.startswith(incomplete) and e.name[0] != ".")
    return [
        CompletionItem(f"{name}/" if folder else name) for name, folder in named if folder or name.endswith(SUFFIXES)
    ]


def values(parameter: str, incomplete: str) -> Items:
    """Completions for the value of an option or argument, by its name in Python; none where paths are wanted."""
    complete = _VALUES.get(parameter)
    return complete(incomplete) if complete else []


def _rules(incomplete: str) -> Items:
    from hplint.cli.rules import all_rules

    # Several may be given at once, with commas.
    before, comma, word = incomplete.rpartition(",")
    head = before + comma
    found = [(r.code, r.name) for r in all_rules()]
    codes = [CompletionItem(head + code, help=name) for code, name in found if code.startswith(word.upper())]
    return codes or [CompletionItem(head + name, help=code) for code, name in found if name.startswith(word)]


def _axes(incomplete: str) -> Items:
    before, comma, word = incomplete.rpartition(",")
    taken = {part.partition("=")[0] for part in before.split(",")}
    return [CompletionItem(f"{before}{comma}{a}=") for a in MESH_AXES if a.startswith(word) and a not in taken]


def _models(incomplete: str) -> Items:
    return [CompletionItem(f"{kind}:") for kind in KINDS if incomplete and f"{kind}:".startswith(incomplete)]


def _formats(incomplete: str) -> Items:
    from hplint.report.formats import FORMATS

    return [CompletionItem(name, help=form.doc) for name, form in FORMATS.items() if name.startswith(incomplete)]


def _folders(incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="dir")]


_VALUES: dict[str, Callable[[str], Items]] = {
    "select": _rules,
    "ignore": _rules,
    "extend_select": _rules,
    "codes": _rules,
    "mesh": _axes,
    "model": _models,
    "spec": _models,
    "output_format": _formats,
    "src": _folders,
    "trees": _folders,
}
