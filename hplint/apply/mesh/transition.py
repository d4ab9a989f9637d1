"""A change of layout at the entry or the exit of a region, with the right way back for gradients.

A value and its gradient are laid out differently. Along one axis:

==============  =====================  ==================================================================
value           gradient               meaning
==============  =====================  ==================================================================
shard(d)        shard(d)               each rank has its part of both
partial         replicate              the value is a sum of the ranks' terms, so each term has the whole gradient
replicate       replicate              every rank goes on alike with the value: each has the whole gradient
replicate       partial                each rank uses the value for its own share of the work: their gradients add up
==============  =====================  ==================================================================

Only the last two need a decision, which shares.py takes once for each region and axis. Forward redistributes the value,
backward redistributes the gradient from the layout that it has behind the transition to the one it has before it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hplint.apply.mesh.ledger import Note
from hplint.apply.mesh.meshes import MeshAxis
from hplint.apply.mesh.redistribute import redistribute
from hplint.apply.plan import AxisLayout
from hplint.plan.placement import PARTIAL, REPLICATE


def gradient_layout(layout: AxisLayout, shares: Collection[str]) -> AxisLayout:
    """The layout of the gradient of a value. ``shares`` are the axes along which ranks use replicated values for a
    share of the work alone."""
    return {
        axis: p if p.is_shard else PARTIAL if p == REPLICATE and axis in shares else REPLICATE
        for axis, p in layout.items()
    }


@dataclass(frozen=True, slots=True)
class Transition:
    """From ``source`` to ``target``; ``before`` and ``after`` are the layouts of the gradients on either side."""

    source: AxisLayout
    target: AxisLayout
    before: AxisLayout
    after: AxisLayout
    axes: Mapping[str, MeshAxis]
    note: Note

    @property
    def is_identity(self) -> bool:
        """Whether neither the value nor the gradient changes."""
        return self.source == self.target and self.before == self.after

    def __call__(self, tensor: Tensor) -> Tensor:
        """The local tensor behind the transition. Raises ValueError where a dim does not divide."""
        if self.is_identity:
            return tensor
        if not tensor.requires_grad:
            return redistribute(tensor, self.source, self.target, self.axes, self.note)
        result: Tensor = _Transition.apply(tensor, self)  # type: ignore[no-untyped-call]
        return result


class _Transition(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, transition: Transition) -> Tensor:
        ctx.transition = transition
        moved = redistribute(tensor, transition.source, transition.target, transition.axes, transition.note)
        return moved.view_as(moved) if moved is tensor else moved

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        t: Transition = ctx.transition
        return redistribute(grads[0], t.after, t.before, t.axes, t.note.backward), None
