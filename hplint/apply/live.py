"""Check a plan file against a live module."""

from collections.abc import Mapping
from pathlib import Path

from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from hplint.apply.errors import CannotApply, PlanRefused
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.plan import ApplyPlan, apply_plan_of
from hplint.apply.plan_choice import choose_plan
from hplint.config.config import Config
from hplint.errors import RequestError
from hplint.front.read import read_document
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.pairing import pair
from hplint.lint.request import Request
from hplint.lint.session import Session
from hplint.model.read_tree import read_tree
from hplint.plan.plan import Document
from hplint.plan.style import STYLE_DIALECTS
from hplint.targets.find import TargetFinder
from hplint.text.wording import plural


def resolve_plan(
    plan: str | Path,
    model: nn.Module,
    mesh: DeviceMesh | Meshes | Mapping[str, int],
    *,
    ep: int | None = None,
    sequence_parallel: bool | None = None,
    loss_parallel: bool | None = None,
    seq_len: int | None = None,
    derive: bool | None = None,
    src: tuple[str, ...] = (),
    config: Config | None = None,
    name: str | None = None,
) -> ApplyPlan:
    """Check a plan against a model and a mesh, and resolve it.

    ``plan`` is the path of a file, or the text of a YAML plan (which has line ends).
    ``mesh`` is a named DeviceMesh or axis -> size in mesh order. What is left None comes from the file, as on the
    command line; ``config`` is the project's configuration, ``name`` (or a number from 1
    on) chooses among the plans of a file. Nothing
    of the plan is executed, and the model is only looked at. Raises PlanRefused, with all findings, where there are
    errors; RequestError where there is no such plan.
    """
    document = _read(plan)
    chosen = choose_plan(document.plans, name, document.source.path)
    request = Request(
        paths=(document.source.path,),
        meshes=(_sizes(mesh),),
        ep=ep,
        sequence_parallel=sequence_parallel,
        loss_parallel=loss_parallel,
        derive=derive,
        seq_len=seq_len,
        src=src,
        config=config,
    )
    session = Session(request)
    pairing = pair(document, chosen, request)
    [(topology, faults)] = pairing.topologies
    tree = read_tree(model, "")
    finder = TargetFinder([Path(s) for s in pairing.src])
    own = (*pairing.faults, *faults)
    found, resolved = session.engine.check(chosen, tree, topology, finder, own)
    diagnostics = (*session.engine.check_document(document), *found)
    if chosen.dialect in STYLE_DIALECTS:
        if any(d.severity == "error" for d in diagnostics):
            raise _refused(diagnostics)
        from hplint.apply.styles.dialect import freeze

        return freeze((chosen,), tree, topology, pairing.src)
    if resolved is None or any(d.severity == "error" for d in diagnostics):
        raise _refused(diagnostics)
    return apply_plan_of(resolved, tree, topology, chosen, pairing.src)


def _read(plan: str | Path) -> Document:
    text = str(plan)
    if isinstance(plan, str) and "\n" in text:
        return read_document("plan.yaml", text.encode())
    try:
        return read_document(text, Path(text).read_bytes())
    except OSError as error:
        raise RequestError(f"{text}: the plan cannot be read: {error.strerror or error}") from None


def _sizes(mesh: DeviceMesh | Meshes | Mapping[str, int]) -> dict[str, int]:
    if isinstance(mesh, Mapping):
        return dict(mesh)
    world = mesh.world if isinstance(mesh, Meshes) else mesh
    if not world.mesh_dim_names:
        raise CannotApply("the device mesh has no axis names", "pass mesh_dim_names, such as ('dp', 'cp', 'tp')")
    return dict(zip(world.mesh_dim_names, world.mesh.shape, strict=True))


def _refused(diagnostics: tuple[Diagnostic, ...]) -> PlanRefused:
    errors = [d for d in diagnostics if d.severity == "error"]
    shown = "; ".join(
        f"{d.source.path}:{d.source.position(d.span.start).line}: {d.code} {d.message}" for d in errors[:5]
    )
    more = f" and {len(errors) - 5} more" if len(errors) > 5 else ""
    return PlanRefused(
        f"the plan has {plural(len(errors), 'error')}: {shown}{more}", diagnostics, "nothing was applied"
    )
