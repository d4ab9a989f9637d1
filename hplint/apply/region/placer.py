"""Put the parts of parameters in the place of the whole ones."""

from collections.abc import Mapping

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from hplint.apply.mesh.layouts import mesh_for, to_torch
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.mesh.shares import Owners, joined
from hplint.apply.plan import ApplyBoundary, ApplyPlan, AxisLayout
from hplint.apply.region.parameters import local_part, named_slots, split_name, stack
from hplint.plan.placement import REPLICATE


class Placer:
    """Cuts the parameters of one model. In local mode a parameter stays the object that it is and gets this rank's
    part as its data; in validate mode a DTensor takes its place under all its names."""

    def __init__(
        self,
        model: nn.Module,
        plan: ApplyPlan,
        meshes: Meshes,
        mode: str,
        laid: Mapping[str, AxisLayout],
        owners: Owners,
    ) -> None:
        self.model, self.plan, self.meshes, self.mode = model, plan, meshes, mode
        self.laid, self.owners = laid, owners
        self.done: set[int] = set()
        """Parameters that are placed: tied ones are met again."""
        self.slots: dict[int, list[tuple[nn.Module, str]]] = {}
        """Where each parameter stands, by identity."""

    def stack(self, boundary: ApplyBoundary) -> None:
        """Stack per-expert weights where the boundary is marked so. Each becomes this rank's part at once."""
        for path, sources in boundary.ep_stack.items():
            name = joined(boundary.fqn, path)
            layout = self.laid.get(name, {})
            parameter = stack(self.model, name, [joined(boundary.fqn, s) for s in sources], layout, self.meshes)
            self.done.add(id(parameter))
            if self.mode == "validate" and layout:
                owner, leaf = split_name(name)
                made = self._dtensor(parameter.data, layout, parameter)
                self.model.get_submodule(owner)._parameters[leaf] = made

    def place(self, boundary: ApplyBoundary) -> None:
        """Cut the parameters that a boundary lays out."""
        for path in boundary.params:
            self._place(joined(boundary.fqn, path), self.laid[joined(boundary.fqn, path)])

    def place_rest(self) -> None:
        """Special parameters, and in validate mode all else that lies in a region: DTensors mix with DTensors only."""
        whole: AxisLayout = dict.fromkeys(self.plan.axes, REPLICATE)
        for name, _, _, parameter in list(named_slots(self.model)):
            inside = self.mode == "validate" and self.owners.of(name) is not None
            if id(parameter) not in self.done and (name in self.laid or inside):
                self._place(name, self.laid.get(name, whole))

    def tie(self) -> None:
        """Let tied names be one parameter."""
        for first, second in self.plan.tied:
            owner, leaf = split_name(second)
            try:
                parameter = self.model.get_parameter(first)
                module = self.model.get_submodule(owner)
            except AttributeError:
                continue
            if module._parameters.get(leaf) is not None:
                module._parameters[leaf] = parameter

    def _place(self, name: str, layout: AxisLayout) -> None:
        parameter = self.model.get_parameter(name)
        if id(parameter) in self.done:
            return
        self.done.add(id(parameter))
        part = local_part(parameter, layout, self.meshes)
        if self.mode == "validate":
            self._replace(parameter, self._dtensor(part, layout, parameter))
            return
        parameter.grad = None
        parameter.data = part

    def _dtensor(self, part: torch.Tensor, layout: AxisLayout, parameter: nn.Parameter) -> nn.Parameter:
        tensor = DTensor.from_local(part, mesh_for(layout, self.meshes), to_torch(layout), run_check=False)
        made = nn.Parameter(tensor, requires_grad=parameter.requires_grad)
        for key, value in vars(parameter).items():
            setattr(made, key, value)
        self.done.add(id(made))
        return made

    def _replace(self, parameter: nn.Parameter, made: nn.Parameter) -> None:
        if not self.slots:
            for _, owner, leaf, other in named_slots(self.model):
                self.slots.setdefault(id(other), []).append((owner, leaf))
        for owner, leaf in self.slots.get(id(parameter), ()):
            owner._parameters[leaf] = made
