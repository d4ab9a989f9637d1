"""Groups of commands that import a command only when it is called."""

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hplint.errors import RequestError
from hplint.text.near import near
from hplint.text.wording import listing, quote


class LazyGroup(click.Group):
    """``table`` maps command names to ``module:object`` and a line of help. With a ``default``, arguments that name no
    command go to that command."""

    def __init__(
        self, name: str, table: dict[str, tuple[str, str]], default: str | None = None, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self.table = table
        self.default = default

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _, name = self.table[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {option for param in self.get_params(ctx) for option in param.opts}
        # A shell that completes the first word asks the group itself.
        none = not args and not ctx.resilient_parsing
        if self.default and (none or (args and args[0] not in self.table and args[0] not in own)):
            if not ctx.resilient_parsing:
                self._refuse_misspelt(args[:1])
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def _refuse_misspelt(self, words: list[str]) -> None:
        """Raise RequestError for a word that is no path here, but nearly a command."""
        for word in words:
            if not word.startswith("-") and (names := near(word, self.table)) and not Path(word).exists():
                raise RequestError(
                    f"no such file, folder or command: {quote(word)}", f"did you mean {listing(names, 'or')}?"
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.table:
            names = near(args[0], self.table) or list(self.table)
            raise RequestError(
                f"{ctx.command_path} has no command {quote(args[0])}", f"did you mean {listing(names, 'or')}?"
            )
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The names of commands, and whatever could come first in arguments of the default one."""
        from click.shell_completion import CompletionItem

        found: list[Any] = [
            CompletionItem(name, help=text) for name, (_, text) in self.table.items() if name.startswith(incomplete)
        ]
        command = self.get_command(ctx, self.default) if self.default else None
        if incomplete.startswith("-"):
            found += click.Command.shell_complete(self, ctx, incomplete)
            found += command.shell_complete(ctx, incomplete) if command else []
        elif self.default == "check" and found:
            from hplint.cli.completion import paths_here

            found += paths_here(incomplete)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])
