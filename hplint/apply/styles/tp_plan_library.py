"""What is needed of the transformers library, which applies plans, and whether it reads a plan as hplint does.

Source: transformers 5.24, ``distributed/``.
"""

from typing import Any, NamedTuple

from torch import nn

from hplint.apply.styles.tp_plan import TpPlan, TpRules, refused_model
from hplint.errors import HplintError, RequestError
from hplint.text.wording import quote

NEEDED = "5.24"
"""The version of transformers whose functions are called."""


class Library(NamedTuple):
    """What is taken from it."""

    pretrained: type[nn.Module]
    apply_tp: Any
    apply_ep: Any
    shard: Any
    like: Any
    config: Any


class Disagreement(HplintError):
    """hplint and the library find different rules for a model: a fault of hplint."""

    exit_code = 3


def library() -> Library:
    """Raises RequestError where transformers is missing or does not have these functions."""
    try:
        import transformers
    except ImportError as error:
        raise RequestError(
            f"a tp_plan is applied by the transformers library, which cannot be imported: {error}",
            f"install transformers {NEEDED} or later beside hplint",
        ) from None
    try:
        from transformers.distributed.configuration_utils import DistributedConfig
        from transformers.distributed.expert_parallel import apply_expert_parallelism
        from transformers.distributed.sharding_utils import DtensorShardOperation, _dtensor_from_local_like
        from transformers.distributed.tensor_parallel import apply_tensor_parallelism
        from transformers.modeling_utils import PreTrainedModel
    except ImportError:
        raise RequestError(
            f"transformers {transformers.__version__} does not apply tp_plans in the way that hplint calls",
            f"install transformers {NEEDED} or later",
        ) from None
    if not hasattr(PreTrainedModel, "_resolve_parallel_plans"):
        raise RequestError(
            f"transformers {transformers.__version__} resolves no tp_plans in the way that hplint compares with",
            f"install transformers {NEEDED} or later",
        )
    return Library(
        PreTrainedModel,
        apply_tensor_parallelism,
        apply_expert_parallelism,
        DtensorShardOperation,
        _dtensor_from_local_like,
        DistributedConfig,
    )


class Target(NamedTuple):
    """The model of the library that a plan is applied to, and its name inside the whole model."""

    model: Any
    fqn: str

    def inner(self, names: dict[str, str]) -> dict[str, str]:
        """The same rules under the names that the model itself has for them."""
        if not self.fqn:
            return names
        prefix = f"{self.fqn}."
        return {n.removeprefix(prefix): w for n, w in names.items() if n.startswith(prefix)}


def target_of(model: nn.Module, lib: Library) -> Target:
    """Raises RequestError for a model that is not the library's and holds none or several such models."""
    found = [name for name, m in model.named_modules() if isinstance(m, lib.pretrained)]
    tops = [n for n in found if not any(_is_below(n, other) for other in found)]
    if not tops:
        raise refused_model(type(model).__name__)
    if len(tops) > 1:
        shown = " and ".join(quote(n) for n in tops[:3])
        raise RequestError(f"the model holds several models of the transformers library: {shown}", "apply to one")
    return Target(model.get_submodule(tops[0]), tops[0])


def _is_below(name: str, other: str) -> bool:
    return name != other and (not other or name.startswith(f"{other}."))


def resolved_by_library(target: Target, plan: TpPlan, lib: Library) -> tuple[dict[str, str], dict[str, str]]:
    """Module or parameter -> word of the tp and of the ep plan, in the order in which the library applies them.

    Raises RequestError for what the library refuses, Disagreement where it finds other rules than hplint.
    """
    model = target.model
    config = lib.config(**_sizes(plan), **_arguments(target, plan))
    for section, rules in (("tp", plan.tp), ("ep", plan.ep)):
        if rules.written is None:
            setattr(model, f"_{section}_plan", target.inner(dict(rules.rules)))
    try:
        tp, ep, _ = model._resolve_parallel_plans(config)
    except ValueError as error:
        raise RequestError(f"the transformers library refuses the plan: {error}") from None
    for section, rules, theirs in (("tp", plan.tp, tp), ("ep", plan.ep, ep)):
        _compare(section, target.inner(dict(rules.words)), theirs)
    model.config.distributed_config = config
    return tp, ep


def _sizes(plan: TpPlan) -> dict[str, int]:
    tp, ep = plan.topology.tp or 1, plan.topology.ep or 1
    return {"tp_size": tp, "ep_size": ep}


def _arguments(target: Target, plan: TpPlan) -> dict[str, Any]:
    sections: dict[str, TpRules] = {"tp_plan": plan.tp, "ep_plan": plan.ep}
    return {name: target.inner(dict(r.written)) for name, r in sections.items() if r.written is not None}


def _compare(section: str, ours: dict[str, str], theirs: dict[str, str]) -> None:
    if ours == theirs:
        return
    name = next(n for n in (*theirs, *ours) if ours.get(n) != theirs.get(n))
    one, other = quote(ours.get(name, "no rule")), quote(theirs.get(name, "no rule"))
    raise Disagreement(
        f"hplint and the transformers library read this {section}_plan differently: for `{name}` hplint finds {one}, "
        f"the library {other}",
        "this is a fault of hplint: report it with the plan and the config",
    )
