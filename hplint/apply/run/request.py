"""What ``--apply`` is asked for, and what the ranks are told: what can be wrong is found before they start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any

from hplint.apply.plan import ApplyPlan, apply_plan_of
from hplint.apply.plan_choice import choose_plan
from hplint.errors import RequestError
from hplint.lint.request import CheckedPlan, Run
from hplint.lint.run import spell
from hplint.model.build import model_request
from hplint.model.spec import parse_spec
from hplint.plan.style import STYLE_DIALECTS, TP_PLAN
from hplint.resolve.topology import Topology
from hplint.text.wording import quote

TIME_LIMIT = 600.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """The options of the command line. ``nproc`` is None where it was not given; ``inputs`` is ``module:function``;
    ``batch`` counts the sequences of a data-parallel rank; ``time_limit`` is in seconds."""

    nproc: int | None = None
    mode: str = "local"
    verify: bool = False
    inputs: str | None = None
    dry_run: bool = False
    batch: int | None = None
    applier: str = "torch"
    seed: int = 0
    time_limit: float = TIME_LIMIT
    plan: str | None = None
    """Name or number of the plan, where a file holds several."""

    @property
    def job(self) -> str:
        """apply, verify or dry-run."""
        return "dry-run" if self.dry_run else "verify" if self.verify else "apply"


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """One job of the ranks; pickled to them.

    ``model`` is what :func:`hplint.model.make_model.make_model` takes, ``spec`` how the user named it. ``ranks`` is the
    number of ranks of the mesh.
    """

    plan: ApplyPlan
    model: Mapping[str, Any]
    spec: str
    ranks: int
    options: ApplyOptions = field(default_factory=ApplyOptions)


def apply_request(run: Run, options: ApplyOptions, running: int | None = None) -> ApplyRequest:
    """The one plan of a run without errors, on its one mesh. ``running`` is the number of ranks that torchrun started.

    Raises RequestError where there are several plans or meshes, no model that can run, or no sizes, and where the
    number of ranks does not fit.
    """
    parts = _the_one(run, options.plan)
    checked = parts[0]
    spec, model = _model(checked)
    topology = _sized(checked, options, running)
    return ApplyRequest(_frozen(parts, topology, options), model, spec, _product(topology), options)


def _frozen(parts: Sequence[CheckedPlan], topology: Topology, options: ApplyOptions) -> ApplyPlan:
    checked = parts[0]
    assert checked.tree is not None and checked.pairing is not None
    if checked.plan.dialect in STYLE_DIALECTS:
        from hplint.apply.styles.dialect import freeze

        if options.mode != "local":
            raise RequestError(
                f"--mode {options.mode} is for plan_overrides; a plan of styles is applied by its own library",
                "leave --mode out",
            )
        if options.applier != "torch":
            raise RequestError(f"--applier {options.applier} is for plan_overrides, and this is a plan of styles")
        return freeze(tuple(c.plan for c in parts), checked.tree, topology, checked.pairing.src)
    assert checked.resolved is not None
    return apply_plan_of(checked.resolved, checked.tree, topology, checked.plan, checked.pairing.src)


def check_options(
    options: ApplyOptions, given: Mapping[str, Any], formats: tuple[str, ...], under_torchrun: bool
) -> None:
    """Raise RequestError for options that make no sense together. ``given`` are those of the whole command."""
    for name in ("fix", "diff", "show_files", "statistics", "add_ignore", "write_baseline"):
        if given.get(name):
            raise RequestError(f"--{name.replace('_', '-')} and --apply exclude each other")
    if wrong := [f for f in formats if f not in ("full", "json")]:
        raise RequestError(f"--apply reports as full or json, not as {wrong[0]}")
    if options.verify and options.dry_run:
        raise RequestError("--verify and --dry-run exclude each other", "--dry-run holds no values to compare")
    _check_dry_run(options)
    if options.inputs is not None:
        if not options.verify:
            raise RequestError("--inputs gives the inputs of --verify, which is not asked for")
        module, _, function = options.inputs.rpartition(":")
        if not module or not function.isidentifier():
            raise RequestError(
                f"--inputs: {quote(options.inputs)} names no function", "name it as module:function or file.py:function"
            )
    if options.applier != "torch" and (options.verify or options.dry_run):
        raise RequestError(f"--{options.job} works on hplint's own applier, not on {options.applier}")
    if options.applier != "torch" and options.mode != "local":
        raise RequestError(f"--mode is for hplint's own applier, not for {options.applier}")
    if under_torchrun and options.nproc is not None:
        raise RequestError("--nproc starts ranks, but torchrun has started them already", "leave --nproc out")
    if under_torchrun and options.dry_run:
        raise RequestError("--dry-run needs one process alone", "run it without torchrun")


def _check_dry_run(options: ApplyOptions) -> None:
    if options.batch is not None and not options.dry_run:
        raise RequestError("--batch says how much flows in --dry-run, which is not asked for", "add --dry-run")
    if options.dry_run and options.nproc is not None:
        raise RequestError("--dry-run starts no ranks: --nproc has no meaning", "give the sizes with --mesh")
    if options.dry_run and options.mode != "local":
        raise RequestError(f"--dry-run counts in mode local, not in mode {options.mode}", "leave --mode out")


def _the_one(run: Run, wanted: str | None) -> Sequence[CheckedPlan]:
    """The one plan, or that of the name or number that is wanted; the sections of a tp_plan are one."""
    found = run.plans
    paths = list(dict.fromkeys(c.path for c in found))
    if len(paths) > 1:
        shown = ", ".join(quote(p) for p in paths[:3]) + (", …" if len(paths) > 3 else "")
        raise RequestError(f"--apply takes one plan; there are {len(found)}: {shown}", "name the file of one")
    if not found:
        raise RequestError("there is no plan to apply")
    if wanted is None and (parts := _sections(found)):
        return parts
    plan = choose_plan(list({id(c.plan): c.plan for c in found}.values()), wanted, paths[0])
    chosen = [c for c in found if c.plan is plan]
    if parts := _sections(chosen):
        return parts
    if len(chosen) > 1:
        meshes = " and ".join(quote(spell(c.topology)) for c in chosen)
        raise RequestError(f"--apply runs on one mesh; there are {len(chosen)}: {meshes}", "give one with --mesh")
    return chosen


def _sections(found: Sequence[CheckedPlan]) -> Sequence[CheckedPlan]:
    """The sections of one tp_plan; none for anything else."""
    if found[0].plan.dialect != TP_PLAN:
        return ()
    from hplint.apply.styles.tp_plan_sections import sections

    return sections(found)


def _model(checked: CheckedPlan) -> tuple[str, Mapping[str, Any]]:
    choice = checked.pairing.model if checked.pairing else None
    if choice is None:
        raise RequestError("--apply needs a model, and none is named", "name one with --model")
    assert checked.pairing is not None
    spec = parse_spec(choice.spec, choice.base)
    if spec.kind not in ("hf", "py"):
        raise RequestError(
            f"{quote(choice.spec)} has names and shapes alone: --apply needs a model that can run",
            "name it as hf:DIR or py:module:factory",
        )
    if checked.tree is None or (checked.resolved is None and checked.plan.dialect not in STYLE_DIALECTS):
        raise RequestError(f"the model {quote(choice.spec)} cannot be had", "see the finding HPL009")
    return choice.spec, model_request(spec, checked.pairing.src)


def _sized(checked: CheckedPlan, options: ApplyOptions, running: int | None) -> Topology:
    """The topology with every size known; an unknown dp is what is left of the ranks, or the least that ep allows."""
    topology = checked.topology
    if topology.tp is None or topology.cp is None:
        raise RequestError(
            "--apply needs the sizes of the mesh, and none are known", "give them, as in --mesh dp=1,tp=2"
        )
    if (topology.pp or 1) > 1:
        raise RequestError(
            f"the mesh has pp={topology.pp}: a pipeline cannot be applied", "apply to one stage, on a mesh without pp"
        )
    wanted = running or options.nproc
    if topology.dp is None:
        inner = topology.tp * topology.cp
        ep = topology.ep or 1
        if wanted is not None and wanted % inner:
            hint = f"start a multiple of {inner:,} ranks, or give a --mesh"
            raise RequestError(f"{wanted} ranks do not divide into cp={topology.cp}, tp={topology.tp}", hint)
        topology = replace(topology, dp=wanted // inner if wanted else ep // gcd(ep, inner))
    ranks = _product(topology)
    if wanted is not None and wanted != ranks:
        started = "torchrun started" if running else "--nproc asks for"
        hint = f"start {ranks:,} ranks, or give a --mesh of {wanted:,}"
        raise RequestError(f"{started} {wanted:,} ranks, and the mesh {spell(topology)} has {ranks:,}", hint)
    ep = topology.ep or 1
    if ranks % ep:
        raise RequestError(f"ep={ep} does not divide the {ranks:,} ranks of the mesh {spell(topology)}")
    return topology


def _product(topology: Topology) -> int:
    if topology.mesh:
        product = 1
        for size in topology.mesh.values():
            product *= size
        return product
    return (topology.dp or 1) * (topology.cp or 1) * (topology.tp or 1)
