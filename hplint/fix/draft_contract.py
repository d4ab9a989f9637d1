"""The contract of one drafted boundary: parameters, inputs and outputs that fit each other and what lies around it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hplint.derive.boundary import Boundary
from hplint.fix.draft_activations import IDS, by_flags, gathered, inner_streams, input_names, stream, token_ids
from hplint.fix.draft_parameters import (
    COLUMN,
    Params,
    can_be_cut,
    heir,
    is_cut,
    linear_params,
    linear_role,
    own_parameters,
    whole,
)
from hplint.fix.draft_setting import Placements, Setting
from hplint.model.tree import Module, Tensor
from hplint.plan.layout import OUTPUT, Layouts
from hplint.plan.placement import PARTIAL, REPLICATE, Placement, shard

Tensors = dict[str, Placements]
"""Tensor name -> placements."""
FEATURES, LAST = shard(2), shard(-1)
"""The last dim of hidden states (batch, sequence, features), as YAML can write it and as templates say it."""
REGIONS = frozenset(("attention", "mlp", "moe_mlp"))
ACTIVATIONS = ("transformers.activations.", "torch.nn.modules.activation.")


@dataclass(frozen=True)
class Contract:
    """What the five contract fields shall be. Without ``inputs`` and ``outputs`` there are parameters alone: a module
    without a forward has nothing else to lay out. The four layouts are those of each input, then of each output."""

    params: Params
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    entering: Placements
    inside: Placements
    leaving: Placements
    handed_on: Placements

    @property
    def fields(self) -> dict[str, Tensors]:
        """Field -> value, params first."""
        found = {"params": self.params}
        if self.inputs:
            found["in_src"] = dict.fromkeys(self.inputs, self.entering)
            found["in_dst"] = dict.fromkeys(self.inputs, self.inside)
        if self.outputs:
            found["out_src"] = dict.fromkeys(self.outputs, self.leaving)
            found["out_dst"] = dict.fromkeys(self.outputs, self.handed_on)
        return found


class Drafter:
    """Works out the contracts of one draft, each once."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._known: dict[tuple[str, bool], Contract] = {}

    def contract(self, fqn: str, uncut: bool = False) -> Contract:
        """The contract of a module; with all its parameters replicated where ``uncut``."""
        key = (fqn, uncut)
        if key not in self._known:
            self._known[key] = self._contract(self.setting.tree.modules[fqn], uncut)
        return self._known[key]

    def _contract(self, module: Module, uncut: bool) -> Contract:
        setting = self.setting
        tensors = own_parameters(setting, module.fqn)
        derived = setting.derived.get(module.fqn)
        if derived is not None and derived.in_src and derived.out_src:
            return self._as_derived(module, derived, tensors, uncut)
        region = next((a for a in setting.above(module.fqn) if self._is_region(a)), None)
        if region is not None:
            return self._in_region(module, region, tensors, uncut)
        return self._in_stream(module, tensors, uncut)

    def _as_derived(self, module: Module, derived: Boundary, tensors: Mapping[str, Tensor], uncut: bool) -> Contract:
        """As the planner's template says, continued from what lies around."""
        setting = self.setting
        laid = {path: setting.placements(o) for path, o in (derived.params or {}).items() if path in tensors}
        params: Params = {path: o for path, o in laid.items() if o is not None}
        if uncut or not can_be_cut(setting, module.fqn, params, tensors):
            params = whole(setting, params)
        params |= whole(setting, (path for path in tensors if path not in params))
        flow, flags = stream(setting, module.fqn), by_flags(setting)
        entering, inside = self._only(derived.in_src), self._only(derived.in_dst)
        leaving, handed_on = self._only(derived.out_src), self._only(derived.out_dst)
        if derived.kind == "norm":
            entering = inside = leaving = handed_on = flow
        if derived.kind != "embed" and entering == flags:
            entering = flow
        if derived.kind != "lm_head" and handed_on == flags:
            handed_on = flow
        if not is_cut(params):
            leaving, handed_on = _joined(leaving), _joined(handed_on)
        if not setting.negative_dims:
            leaving, handed_on = _counted(leaving), _counted(handed_on)
        inputs = input_names(module) or tuple(derived.in_src or ())
        return Contract(params, inputs, (OUTPUT,), entering, inside, leaving, handed_on)

    def _only(self, layouts: Layouts | None) -> Placements:
        """The layout of a template's one input or output."""
        return self.setting.placements(next(iter((layouts or {}).values()), None)) or by_flags(self.setting)

    def _is_region(self, fqn: str) -> bool:
        """Whether a boundary computes as a whole what lies inside it, unlike one that only holds further boundaries."""
        setting = self.setting
        derived = setting.derived.get(fqn)
        known = derived is not None and derived.kind in REGIONS
        if fqn in setting.drafted:
            return known
        boundary = setting.resolved.boundaries.get(fqn)
        if boundary is None:
            return False
        if boundary.kind is not None or known:
            return boundary.kind != "replicated"
        start, end = setting.around(fqn)
        return start == end and bool(boundary.in_dst)

    def _in_region(self, module: Module, region: str, tensors: Mapping[str, Tensor], uncut: bool) -> Contract:
        """A module inside a region hands on what it finds there: nothing is communicated."""
        flow = self._inside_of(region)
        role = "" if uncut else linear_role(self.setting, module.fqn, self._weight_on_tp(module))
        entering = leaving = flow
        if role:
            features = {**flow, "tp": FEATURES}
            entering, leaving = (flow, features) if role == COLUMN else (features, {**flow, "tp": PARTIAL})
        elif self._is_activation(module, region) and not uncut:
            entering = leaving = {**flow, "tp": FEATURES}
        params = linear_params(self.setting, role, tensors) if role else whole(self.setting, tensors)
        return self._identity(module, params, entering, leaving)

    def _inside_of(self, region: str) -> Placements:
        if region in self.setting.drafted:
            return self.contract(region).inside
        layouts = (self.setting.resolved.boundaries[region].in_dst or {}).values()
        found = (self.setting.placements(layout) for layout in layouts)
        return next((f for f in found if f is not None), None) or gathered(by_flags(self.setting))

    def _weight_on_tp(self, module: Module) -> Placement | None:
        """How the boundary that owns a module's weight lays it out on tp; None where that is left to the module."""
        setting, name = self.setting, f"{module.fqn}.weight"
        owner = setting.owners.get(name)
        if owner is not None and owner != module.fqn:
            layout = (setting.resolved.boundaries[owner].params or {}).get(_relative(name, owner))
            return layout.placements.get("tp", REPLICATE) if layout else REPLICATE
        taker = heir(setting, name)
        if taker is None or taker == module.fqn:
            return None
        return self.contract(taker).params.get(_relative(name, taker), {}).get("tp", REPLICATE)

    def _is_activation(self, module: Module, region: str) -> bool:
        """Whether a module lies between the column-wise and the row-wise half of a cut feed-forward region."""
        setting = self.setting
        boundary = setting.derived.get(region)
        if "tp" not in setting.axes or module.cls is None or not module.cls.name.startswith(ACTIVATIONS):
            return False
        if boundary is None or boundary.kind != "mlp" or module.fqn.rpartition(".")[0] != region:
            return False
        if region in setting.drafted:
            return is_cut(self.contract(region).params)
        params = setting.resolved.boundaries[region].params or {}
        return any(layout.placements.get("tp") == shard(0) for layout in params.values())

    def _in_stream(self, module: Module, tensors: Mapping[str, Tensor], uncut: bool) -> Contract:
        """A module between boundaries."""
        setting = self.setting
        role = linear_role(setting, module.fqn, None) if "weight" in tensors and not uncut else ""
        flow = stream(setting, module.fqn)
        if role:
            params, inside, features = linear_params(setting, role, tensors), gathered(flow), {**flow, "tp": FEATURES}
            names = input_names(module)
            if role == COLUMN:
                return Contract(params, names, (OUTPUT,), flow, inside, features, flow)
            return Contract(params, names, (OUTPUT,), flow, features, {**flow, "tp": PARTIAL}, flow)
        entering, leaving = inner_streams(setting, module.fqn) or (flow, flow)
        if input_names(module) == (IDS,):
            entering = token_ids(setting)
        contract = self._identity(module, whole(setting, tensors), entering, leaving)
        if self._attends(module, tensors):
            # Attention that no boundary of its own gathers for needs the whole sequence of the tp ranks.
            return replace(contract, inside=gathered(entering), leaving=gathered(leaving))
        return contract

    def _attends(self, module: Module, tensors: Mapping[str, Tensor]) -> bool:
        """Whether a module declares the parameters of attention that lies somewhere inside it."""
        lead = f"{module.fqn}." if module.fqn else ""
        return any(
            boundary.kind == "attention"
            and any(_relative(f"{fqn}.{p}", module.fqn) in tensors for p in boundary.params or ())
            for fqn, boundary in self.setting.derived.items()
            if fqn.startswith(lead)
        )

    def _identity(self, module: Module, params: Params, entering: Placements, leaving: Placements) -> Contract:
        inputs = input_names(module)
        outputs: tuple[str, ...] = ()
        if module.forward is not None or module.cls is None:
            outputs = self.setting.outputs(module.fqn) or (OUTPUT,)
        return Contract(params, inputs, outputs, entering, entering, leaving, leaving)


def _relative(name: str, fqn: str) -> str:
    return name[len(fqn) + 1 :] if fqn else name


def _joined(placements: Placements) -> Placements:
    """The layout of an output that no cut parameter makes partial or cuts by features."""
    return {a: REPLICATE if p in (PARTIAL, LAST, FEATURES) else p for a, p in placements.items()}


def _counted(placements: Placements) -> Placements:
    return {a: FEATURES if p == LAST else p for a, p in placements.items()}
