"""Send tokens to the ranks that hold their experts, and their results back.

Autograd follows: gradients of a token come back from all experts it went to, those of an expert from all ranks that
sent it tokens. A token that several ranks hold alike is sent by each of them. It counts once nonetheless, as the
gradient that enters the region is then a share on each rank (:mod:`hplint.apply.mesh.transition`).
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hplint.apply.mesh.collectives import all_to_all, all_to_all_with_grad
from hplint.apply.mesh.ledger import SILENT, Note
from hplint.apply.mesh.meshes import MeshAxis

TO_EXPERTS, FROM_EXPERTS = "tokens to experts", "tokens from experts"
BALANCED = frozenset({TO_EXPERTS, FROM_EXPERTS})
"""What depends on the router's choice; without values each rank sends each expert the same number of tokens."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange of the copies of tokens, one for each expert that a token goes to.

    ``order`` sorts this rank's copies by expert; ``send`` and ``receive`` are the copies that go to and come from each
    rank; ``grouped`` sorts what came by expert; ``counts`` are the copies that came for each of this rank's experts.
    """

    axis: MeshAxis
    order: Tensor
    send: tuple[int, ...]
    receive: tuple[int, ...]
    grouped: Tensor
    counts: tuple[int, ...]
    note: Note = SILENT

    def dispatch(self, copies: Tensor) -> Tensor:
        """Copies [tokens x k, hidden], in the order of the tokens -> those for this rank's experts, expert by
        expert."""
        sent = copies.index_select(0, self.order)
        note = replace(self.note, name=TO_EXPERTS)
        return all_to_all_with_grad(sent, self.axis, self.send, self.receive, note).index_select(0, self.grouped)

    def combine(self, results: Tensor) -> Tensor:
        """What the experts made, expert by expert -> results of this rank's copies, in the order of the tokens."""
        returned = results.index_select(0, _inverse(self.grouped))
        note = replace(self.note, name=FROM_EXPERTS)
        back = all_to_all_with_grad(returned, self.axis, self.receive, self.send, note)
        return back.index_select(0, _inverse(self.order))


def plan_exchange(experts: Tensor, count: int, axis: MeshAxis, note: Note = SILENT) -> Exchange:
    """How the copies of tokens are exchanged: ``experts`` has the number of the expert of each copy, ``count`` is the
    number of all experts, of which each rank holds ``count / axis.size`` in order."""
    own = count // axis.size
    if experts.is_meta:
        return _even(experts, own, axis, note)
    order = torch.argsort(experts, stable=True)
    outgoing = torch.bincount(experts, minlength=count).view(axis.size, own)
    incoming = all_to_all(outgoing, axis, note=replace(note, name="token counts"))
    send = tuple(outgoing.sum(1).tolist())
    receive = tuple(incoming.sum(1).tolist())
    numbers = torch.arange(own, device=experts.device).repeat(axis.size)
    grouped = torch.argsort(numbers.repeat_interleave(incoming.flatten()), stable=True)
    return Exchange(axis, order, send, receive, grouped, tuple(incoming.sum(0).tolist()), note)


def _even(experts: Tensor, own: int, axis: MeshAxis, note: Note) -> Exchange:
    """Without values every rank, and every expert, gets the same share."""
    all_to_all(experts.new_empty((axis.size, own)), axis, note=replace(note, name="token counts"))
    share = _split(experts.numel(), axis.size)
    positions = torch.empty(experts.numel(), dtype=torch.long, device=experts.device)
    return Exchange(axis, positions, share, share, positions, _split(experts.numel(), own), note)


def _split(number: int, parts: int) -> tuple[int, ...]:
    return tuple(number // parts + (i < number % parts) for i in range(parts))


def _inverse(order: Tensor) -> Tensor:
    if order.is_meta:
        return order
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(order.numel(), device=order.device)
    return inverse
