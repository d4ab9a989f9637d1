"""What a run is asked for, and what it gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hplint.lint.diagnostic import Diagnostic
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from hplint.config.config import Config
    from hplint.lint.pairing import Pairing
    from hplint.model.tree import ModuleTree
    from hplint.plan.plan import Plan
    from hplint.resolve.resolved import ResolvedPlan
    from hplint.targets.find import TargetFinder


@dataclass(slots=True)
class Request:
    """One run. What is None (or empty) was not asked for on the command line: directives, config and the plan file
    itself decide. ``meshes`` are axis -> size in mesh order. ``stdin`` is the text that stands for the path ``-``."""

    paths: tuple[str, ...]
    stdin: bytes | None = None
    stdin_filename: str | None = None
    model: str | None = None
    meshes: tuple[Mapping[str, int], ...] = ()
    ep: int | None = None
    sequence_parallel: bool | None = None
    loss_parallel: bool | None = None
    derive: bool | None = None
    seq_len: int | None = None
    src: tuple[str, ...] = ()
    here: str = "."
    """The folder where injected functions and factories are looked up last: the current one."""
    reader: str | None = None
    """Who reads tp_plans: transformers, vllm."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[str, ...] = ()
    """``GLOB:RULES``, globs counting from the current folder."""
    severity: tuple[str, ...] = ()
    """``RULE=SEVERITY,…``."""
    baseline: str | None = None
    """The file of accepted findings; None: what the configuration says; "": none."""
    skip_planless: bool = False
    """Named files that hold no plan are passed over instead of being a wrong request."""
    shipped: bool = False
    """Whether the plan that the model itself ships is checked too."""
    config: "Config | None" = None
    use_cache: bool = True
    build_timeout: float | None = None
    progress: Callable[[str], None] | None = None
    """Called with a line of what is going on when a model build takes over a second."""


def is_plain(request: Request) -> bool:
    """Whether neither the command line nor the configuration says anything about rules or about accepted findings."""
    given: list[object] = [request.severity, request.per_file_ignores, request.baseline]
    if (config := request.config) is not None:
        given += [config.severity, config.per_file_ignores, config.baseline]
        given += [config.select, config.ignore, config.extend_select]
    return not any(given)


@dataclass(slots=True)
class CheckedPlan:
    """One plan that was checked on one topology. ``tree`` and ``resolved`` are None without a model; ``targets`` reads
    source that the plan and the model name; ``pairing`` tells where model and topology came from."""

    path: str
    plan: "Plan"
    topology: Topology
    model: str | None = None
    tree: "ModuleTree | None" = None
    resolved: "ResolvedPlan | None" = None
    diagnostics: tuple[Diagnostic, ...] = ()
    targets: "TargetFinder | None" = None
    pairing: "Pairing | None" = None

    def to_json(self) -> dict[str, Any]:
        """An item of ``plans`` in the machine output."""
        return {
            "path": self.path,
            "model": self.model,
            "topology": self.topology.to_json(),
            "dialect": self.plan.dialect,
            "entries": self.plan.size,
        }


@dataclass(slots=True)
class Run:
    """What a run found. ``files`` counts the files that hold a plan, or that could not be read. ``notes`` are lines
    for people (no sizes known, no model named); ``without_plan`` are paths named on the command line that hold no
    plan: a wrong request, exit 2. ``fixed`` counts the findings that fixes removed, in ``fixed_files`` files;
    ``suppressed`` and ``baselined`` count those that comments and the baseline keep out of ``diagnostics``."""

    files: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    plans: tuple[CheckedPlan, ...] = ()
    notes: tuple[str, ...] = ()
    without_plan: tuple[str, ...] = field(default_factory=tuple)
    fixed: int = 0
    fixed_files: int = 0
    suppressed: int = 0
    baselined: int = 0
