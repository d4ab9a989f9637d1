"""Options that several commands take, worded by the one table of options."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hplint.config.options import BY_NAME

Function = TypeVar("Function", bound=Callable[..., Any])


_METAVARS = {
    "meshes": "AXES", "paths": "DIR", "texts": "RULES", "ignores": "GLOB:RULES", "severities": "RULE=SEVERITY"
}  # fmt: skip


def completed(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """What a shell may offer as the value of an option or an argument."""
    from hplint.cli.completion import values

    return values(parameter.name or "", incomplete)


def option(name: str) -> Callable[[Function], Function]:
    """The command line's form of an option of the table: flags get a ``--no-`` form, lists may be repeated."""
    entry = BY_NAME[name]
    text = entry.doc
    match entry.kind:
        case "flag" if name == "derive":
            return click.option("--derive/--no-derive", default=None, help=text)
        case "flag":
            return click.option(f"--{name}/--no-{name}", default=None, help=text)
        case "count":
            return click.option(f"--{name}", type=click.IntRange(min=1), metavar="N", help=text)
        case "seconds":
            return click.option(f"--{name}", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help=text)
        case "path":
            return click.option(f"--{name}", metavar="FILE", help=text)
        case words if "|" in words and name != "output-format":
            return click.option(
                f"--{name}", type=click.Choice(words.split("|")), help=f"{text}  [default: {entry.default}]"
            )
        case "meshes" | "paths" | "texts" | "ignores" | "severities":
            metavar = _METAVARS[entry.kind]
            return click.option(f"--{name}", multiple=True, metavar=metavar, help=text, shell_complete=completed)
    return click.option(f"--{name}", metavar="SPEC", help=text, shell_complete=completed)


def _all(function: Function, decorators: list[Callable[[Function], Function]]) -> Function:
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def run_options(function: Function) -> Function:
    """What a plan is checked against: model, mesh, flags."""
    names = ("model", "mesh", "ep", "sequence-parallel", "loss-parallel", "derive", "seq-len")
    return _all(function, [*(option(n) for n in names), source_options])


def plan_option(function: Function) -> Function:
    """Plans that stand in no file."""
    return click.option(
        "--tp-plan",
        type=click.Choice(["builtin"]),
        help="Check the plan that the model itself ships.",
    )(function)


def source_options(function: Function) -> Function:
    """Where sources and settings come from, and how models are built."""
    return _all(
        function,
        [
            option("src"),
            click.option("--config", metavar="FILE", help="Configuration file to use instead of the nearest one."),
            click.option("--isolated", is_flag=True, help="Use no configuration file."),
            click.option("--no-cache", is_flag=True, help="Neither read nor write caches."),
            option("build-timeout"),
        ],
    )


def fix_options(function: Function) -> Function:
    """Whether plans are fixed, and how far."""
    return _all(
        function,
        [
            click.option("--fix", is_flag=True, help="Fix what can be fixed without changing what a valid plan means."),
            click.option(
                "--unsafe-fixes", is_flag=True, help="With --fix: drafts and guesses too. Alone: show what they do."
            ),
            click.option("--diff", is_flag=True, help="Show what --fix would change as a diff, and change nothing."),
        ],
    )


def accept_options(function: Function) -> Function:
    """What is found and shall be left as it is."""
    return _all(
        function,
        [
            click.option("--add-ignore", is_flag=True, help="Add comments to the plans that ignore all that is found."),
            click.option("--reason", metavar="TEXT", help="With --add-ignore: why; it stands in the comments."),
            option("baseline"),
            click.option("--write-baseline", is_flag=True, help="Write all that is found to the baseline."),
        ],
    )


def color_option(function: Function) -> Function:
    """Whether to paint."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Colours; auto heeds NO_COLOR, FORCE_COLOR and the terminal.",
    )(function)


def apply_options(function: Function) -> Function:
    """Whether and how plans are applied."""
    return _all(
        function,
        [
            click.option("--apply", is_flag=True, help="Apply the plan to the model with torch.distributed."),
            click.option("--verify", is_flag=True, help="With --apply: compare with the unsharded model."),
            click.option("--dry-run", is_flag=True, help="With --apply: what it costs on any mesh, without values."),
            click.option(
                "--batch",
                type=click.IntRange(min=1),
                metavar="N",
                help="With --dry-run: sequences of one data-parallel rank; default: 1.",
            ),
            click.option(
                "--nproc",
                type=click.IntRange(min=1),
                metavar="N",
                help="Local ranks to start; default: those of the mesh. Not under torchrun.",
            ),
            click.option(
                "--mode",
                type=click.Choice(["local", "validate"]),
                help="Regions see plain tensors (local, the default), or DTensors whose layouts are checked.",
            ),
            click.option("--inputs", metavar="MODULE:FUNCTION", help="Function that returns the inputs of --verify."),
            click.option(
                "--applier",
                type=click.Choice(["torch", "hyper_parallel"]),
                help="Who applies: hplint (torch, the default) or an installed HyperParallel.",
            ),
            click.option("--plan", metavar="NAME|N", help="Which plan of a file that holds several."),
            click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of values and inputs."),
            click.option(
                "--time-limit",
                type=click.FloatRange(min=0, min_open=True),
                metavar="SECONDS",
                help="Seconds that applying may take; default: 600.",
            ),
        ],
    )
