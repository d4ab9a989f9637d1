"""Runs a command line: finds the command, and prints whatever goes wrong, in one place."""

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

import click

from hplint import __version__
from hplint.cli.groups import LazyGroup
from hplint.errors import HplintError, RequestError
from hplint.text.near import near
from hplint.text.wording import listing

COMMANDS = {
    "check": ("hplint.cli.check:check", "Check plans (this is what hplint PATHS does)."),
    "plan": ("hplint.cli.plan:plan", "Show what a plan comes to."),
    "report": ("hplint.cli.report:report", "Write a plan as an HTML page."),
    "model": ("hplint.cli.model:model", "Show or write the module tree of a model."),
    "explain": ("hplint.cli.explain:explain", "Explain a rule: what it reports, why, and what to do."),
    "rules": ("hplint.cli.rules:rules", "List all rules, or run the pages of a package of rules."),
    "init": ("hplint.cli.init:init", "Write files for CI, hooks and editors."),
    "schema": ("hplint.cli.schema:schema", "Write a JSON Schema for plan files."),
    "server": ("hplint.cli.server:server", "Serve an editor: the language server."),
    "completion": ("hplint.cli.completion:completion", "Print the completion script of a shell."),
    "config": ("hplint.cli.config:config", "Show every option, its value, and where that comes from."),
}
HELP = """Check sharding plans against the model and the mesh, before a cluster starts.

hplint PATHS is short for hplint check PATHS; its options are under hplint check --help.
"""
INTERRUPTED = 130
OWN_FAULT = 3


def command_line() -> click.Command:
    """The whole command line. A first word that is no command is a path: the command is check."""
    group = LazyGroup(
        "hplint",
        COMMANDS,
        default="check",
        help=HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    group.params.append(
        click.Option(
            ["-V", "--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Show the version.",
        )
    )
    return group


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"hplint {__version__}")
        context.exit()


def run(arguments: Sequence[str]) -> int:
    """Run a command line; the exit code. Tells errors on the standard error stream and never raises."""
    try:
        with command_line().make_context("hplint", list(arguments)) as context:
            code = context.command.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        return _help(error)
    except click.UsageError as error:
        return _tell(_request_error(error))
    except HplintError as error:
        return _tell(error)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except OSError as error:
        told = _system_error(error)
        return _tell(told) if told else _own_fault(error)
    except Exception as error:
        return _own_fault(error)


def _tell(error: HplintError) -> int:
    from hplint.report.errors import error_lines
    from hplint.report.writer import Writer

    writer = Writer(sys.stderr)
    writer.lines(error_lines(error, writer.style))
    return error.exit_code


def _help(error: click.UsageError) -> int:
    """A group without a command: its help, on the error stream."""
    from hplint.report.writer import Writer

    Writer(sys.stderr).lines((error.ctx.get_help() if error.ctx else error.format_message()).splitlines())
    return RequestError.exit_code


def _system_error(error: OSError) -> RequestError | None:
    """What the system refuses whatever hplint does: output that nobody takes, a current folder that is gone."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF):
        return RequestError(f"the output cannot be written: {error.strerror}")
    try:
        Path.cwd()
    except OSError:
        return RequestError("the current folder no longer exists", "go to another folder, or name paths absolutely")
    return None


def _own_fault(error: Exception) -> int:
    from hplint.model.failure import SpecError

    if isinstance(error, SpecError):
        return _tell(RequestError(error.reason, error.hint))
    if os.environ.get("HPLINT_DEBUG"):
        raise error
    words = str(error).splitlines() or [""]
    place = error.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    where = f" ({PurePath(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno})" if place else ""
    _tell(
        HplintError(
            f"a fault of hplint itself: {type(error).__name__}: {words[0]}{where}",
            "run it again with HPLINT_DEBUG=1 and report the traceback with the command and the plan",
        )
    )
    return OWN_FAULT


def _request_error(error: click.UsageError) -> RequestError:
    """Click's complaint in our words, with near names."""
    command = error.ctx.command_path if error.ctx else "hplint"
    help_hint = f"`{command} --help` lists the options"
    if isinstance(error, click.NoSuchOption):
        known = (
            [o for p in error.ctx.command.get_params(error.ctx) for o in (*p.opts, *p.secondary_opts)]
            if error.ctx
            else []
        )
        names = near(error.option_name, [*known, "--version"])
        return RequestError(f"no such option: {error.option_name}", _meant(names) or help_hint)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return RequestError(f"{_spelled(error.param)} is missing", help_hint)
    if isinstance(error, click.BadParameter) and error.param is not None:
        return RequestError(f"{_spelled(error.param)}: {_lowered(error.message)}", _near_choice(error))
    return RequestError(_lowered(error.message), help_hint)


def _spelled(param: click.Parameter) -> str:
    """An option by its long form, an argument by its name in the usage line."""
    return param.opts[-1] if param.param_type_name == "option" else param.human_readable_name


def _near_choice(error: click.BadParameter) -> str:
    """Near names for a word that is none of a fixed few; click quotes what was given first in its message."""
    if error.param is None or not isinstance(error.param.type, click.Choice):
        return ""
    given = error.message.split("'")[1:2]
    return _meant(near(given[0], error.param.type.choices)) if given else ""


def _meant(names: list[str]) -> str:
    return f"did you mean {listing(names, 'or')}?" if names else ""


def _lowered(message: str) -> str:
    return (message[:1].lower() + message[1:]).rstrip(".").replace("'", "`")
