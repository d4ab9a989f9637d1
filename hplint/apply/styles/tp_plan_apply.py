"""Apply a ``tp_plan`` to a live model by the transformers library's own functions.

The library shards while it loads: parameters become placeholders on the meta device, which loading fills with each
rank's part of what a checkpoint holds. Here the values of the live model take the place of the checkpoint.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from hplint.apply.dry_run.without_values import ShapedLikeInput
from hplint.apply.errors import ApplyFailed
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.styles.tp_plan import TpPlan
from hplint.apply.styles.tp_plan_library import Library, Target, library, resolved_by_library, target_of
from hplint.text.wording import quote


def apply_tp_plan(model: nn.Module, plan: TpPlan, meshes: Meshes) -> None:
    """Shard ``model`` in place. Every rank calls it, with equal weights.

    Parameters with a rule become DTensors (or stay whole), forwards are wrapped as the words say, and ties are made
    anew as after loading. Raises RequestError for models that are not the library's and for what the library refuses,
    Disagreement where hplint and the library find different rules, ApplyFailed where the library stops half-way.
    """
    lib = library()
    target = target_of(model, lib)
    tp, ep = resolved_by_library(target, plan, lib)
    values = _values(target.model)
    _to_placeholders(target.model, values)
    _install(target, plan, meshes, tp, ep, lib)
    if not any(v.is_meta for v in values.values()):
        _fill(target.model, values, lib)
    target.model.tie_weights(recompute_mapping=False)


Slot = tuple[nn.Module, str, str]
"""The module that holds a parameter, the parameter's own name, its full name."""


def slots(model: nn.Module) -> Iterator[Slot]:
    """Every place of a parameter, tied ones at each of theirs; a module that stands in several places once."""
    for fqn, module in model.named_modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield module, name, f"{fqn}.{name}" if fqn else name


def _values(model: nn.Module) -> dict[str, nn.Parameter]:
    return {full: module._parameters[name] for module, name, full in slots(model)}  # type: ignore[misc]


def _to_placeholders(model: nn.Module, values: dict[str, nn.Parameter]) -> None:
    """Loading begins without values and without ties."""
    for module, name, full in list(slots(model)):
        value = values[full]
        empty = torch.empty_like(value, device="meta")
        module._parameters[name] = nn.Parameter(empty, requires_grad=value.requires_grad)


def _install(
    target: Target, plan: TpPlan, meshes: Meshes, tp: dict[str, str], ep: dict[str, str], lib: Library
) -> None:
    """What ``maybe_distribute_model`` does with its meshes."""
    model = target.model
    tp_mesh = meshes.submesh("tp")
    model._device_mesh = tp_mesh
    model._is_distributed_loading_by_transformers = True
    model._tp_size = plan.topology.tp
    if tp_mesh is not None:
        rules = _Followed(tp)
        with rules.naming():
            lib.apply_tp(model, tp_mesh, rules)
    if "ep_dispatch_experts" in ep.values():
        rules = _Followed({n: w for n, w in ep.items() if not _stands_in(model, n)})
        with rules.naming():
            lib.apply_ep(model, meshes.submesh("ep"), tp_mesh, rules)


def _stands_in(model: nn.Module, name: str) -> bool:
    """Whether a module of a dry run has another forward: the exchange of tokens around it would need values, too."""
    module = dict(model.named_modules()).get(name)
    return module is not None and isinstance(vars(module).get("forward"), ShapedLikeInput)


class _Followed(dict[str, str]):
    """Rules that know which of them the library is at."""

    at = ""

    def items(self) -> Any:
        for name in self:
            self.at = name
            yield name, self[name]

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Name the rule at fault in what is raised."""
        try:
            yield
        except Exception as error:
            reason = next(iter(str(error).splitlines()), "")
            what = f"{quote(self.get(self.at, ''))} to `{self.at}`" if self.at else "the plan"
            raise ApplyFailed(
                f"the transformers library cannot apply {what}: {type(error).__name__}: {reason}", self.at
            ) from error


def _fill(model: nn.Module, values: dict[str, nn.Parameter], lib: Library) -> None:
    """Each rank's part of every value, as loading from a checkpoint fills placeholders."""
    for module, name, full in list(slots(model)):
        placeholder, value = module._parameters[name], values[full]
        assert placeholder is not None
        if not isinstance(placeholder, DTensor):
            module._parameters[name] = nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)
            continue
        part = lib.shard(placeholder).shard_tensor(value.detach())
        filled = lib.like(part.clone(), placeholder)
        module._parameters[name] = nn.Parameter(filled, requires_grad=value.requires_grad)


def part_of(whole: Tensor, like: DTensor, lib: Library) -> Tensor:
    """This rank's part of a whole tensor, cut as another one is."""
    part: Tensor = lib.shard(like).shard_tensor(whole.detach())
    return part
