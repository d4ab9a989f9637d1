"""From a request to the schema of its plans."""

from typing import Any

from hplint.derive.boundary import Boundary
from hplint.errors import RequestError
from hplint.ide.schema import plan_schema
from hplint.lint.registry import Registry
from hplint.lint.request import Request
from hplint.model.spec import parse_spec
from hplint.model.store import ModelError, cache_folder, load_tree
from hplint.model.tree import ModuleTree
from hplint.resolve.topology import Topology


def schema_for(request: Request) -> dict[str, Any]:
    """The schema for the model and the meshes of a request, or of its configuration. Raises RequestError where the
    model cannot be had."""
    config = request.config
    registry = Registry(index_folder=cache_folder() if request.use_cache else None)
    tree = _tree(request)
    topologies = _topologies(request)
    boundaries: dict[str, Boundary] = {}
    if tree and request.derive is not False:
        from hplint.derive.derive import derive_boundaries

        for topology in topologies or [Topology()]:
            boundaries |= derive_boundaries(tree, topology, config.families if config else {})
    return plan_schema(registry, tree, topologies, boundaries, config.wrappers if config else ())


def _tree(request: Request) -> ModuleTree | None:
    config = request.config
    spec, base = request.model, "."
    if spec is None and config and config.defaults.model:
        spec, base = config.defaults.model, config.base
    if spec is None:
        return None
    timeout = request.build_timeout or (config and config.build_timeout)
    options: dict[str, Any] = {"timeout": timeout} if timeout else {}
    src = (*request.src, *(config.defaults.src if config else ()), ".")
    try:
        return load_tree(
            parse_spec(spec, base), src=src, use_cache=request.use_cache, progress=request.progress, **options
        )
    except ModelError as error:
        raise RequestError(f"the model {spec} cannot be built: {error.reason}", error.hint) from None


def _topologies(request: Request) -> list[Topology]:
    settings = request.config.defaults if request.config else None
    meshes = request.meshes or (settings.mesh if settings else ())
    ep = request.ep or (settings.ep if settings else None)
    sequence, loss = bool(request.sequence_parallel), bool(request.loss_parallel)
    return [
        Topology(
            tp=m.get("tp", 1), cp=m.get("cp", 1), pp=m.get("pp", 1), dp=m.get("dp", 1), ep=ep or m.get("ep", 1),
            mesh=dict(m), sequence_parallel=sequence, loss_parallel=loss,
        )
        for m in meshes
    ]  # fmt: skip
