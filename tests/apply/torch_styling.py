"""A small decoder that runs whole or in parts, and plans of torch's styles for it, for tests of ranks."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from hplint.apply.applied import sync_gradients
from hplint.apply.applier import apply_plan
from hplint.apply.dry_run.dry_ledger import Ledger, totals
from hplint.apply.dry_run.dry_step import Step
from hplint.apply.dry_run.torch_collectives import TorchCollectives
from hplint.apply.mesh.meshes import build_meshes
from hplint.apply.plan import ApplyPlan
from hplint.apply.run.model_values import give_values
from hplint.apply.run.place import Place
from hplint.apply.styles.dialect import freeze
from hplint.front.read import read_document
from hplint.model.read_tree import read_tree
from hplint.resolve.topology import Topology

HIDDEN, HEADS = 16, 4
HEAD = """\
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput, RowwiseParallel,
    SequenceParallel, parallelize_module,
)


def shard(model, mesh):
"""


class Plain(nn.Module):
    """A norm without weights."""

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class Attention(nn.Module):
    """Queries, keys and values apart, or ``fused`` in one weight."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.fused = fused
        if fused:
            self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        else:
            self.q, self.k, self.v = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(3))
        self.o = nn.Linear(HIDDEN, HIDDEN)

    def forward(self, x):
        parts = self.qkv(x).chunk(3, -1) if self.fused else (self.q(x), self.k(x), self.v(x))
        heads = [t.view(*t.shape[:2], -1, HIDDEN // HEADS).transpose(1, 2) for t in parts]
        out = F.scaled_dot_product_attention(*heads, is_causal=True)
        return self.o(out.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """``normed``: a norm without weights stands between the two projections."""

    def __init__(self, normed: bool) -> None:
        super().__init__()
        self.up = nn.Linear(HIDDEN, 2 * HIDDEN)
        self.between = Plain() if normed else nn.SiLU()
        self.down = nn.Linear(2 * HIDDEN, HIDDEN)

    def forward(self, x):
        return self.down(self.between(self.up(x)))


class Block(nn.Module):
    def __init__(self, fused: bool, normed: bool) -> None:
        super().__init__()
        self.first_norm = nn.RMSNorm(HIDDEN)
        self.attention = Attention(fused)
        self.second_norm = nn.RMSNorm(HIDDEN)
        self.mlp = FeedForward(normed)

    def forward(self, x):
        x = x + self.attention(self.first_norm(x))
        return x + self.mlp(self.second_norm(x))


class Decoder(nn.Module):
    def __init__(self, fused: bool = False, normed: bool = False, tied: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, HIDDEN)
        self.layers = nn.ModuleList(Block(fused, normed) for _ in range(2))
        self.norm = nn.RMSNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, 32, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, tokens):
        h = self.embed(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.head(self.norm(h))


def plan_text(*calls: str) -> str:
    """A Python file whose function makes these calls: ``model: {…}``, or ``layers: {…}`` for each block."""
    lines = []
    for call in calls:
        module, _, items = call.partition(": ")
        if module == "layers":
            lines += ["    for block in model.layers:", f"        parallelize_module(block, mesh, {items})"]
        else:
            lines.append(f"    parallelize_module({module}, mesh, {items})")
    return HEAD + "\n".join(lines) + "\n"


def frozen(text: str, model: nn.Module, **sizes: int) -> ApplyPlan:
    """The one plan of a text, whatever the checks say of it."""
    [plan] = read_document("plan.py", text.encode()).plans
    return freeze((plan,), read_tree(model, ""), Topology(**(sizes or {"tp": 2})))


def made(model: dict[str, bool]) -> Decoder:
    torch.manual_seed(0)
    decoder = Decoder(**model).eval()
    give_values(decoder, 0)
    return decoder


def compared(text: str, model: dict[str, bool], sizes: dict[str, int]) -> dict[str, Any]:
    """Runs on each rank: verify a plan that was not checked."""
    plan = frozen(text, made(model), **sizes)
    meshes = build_meshes(plan.topology)
    make: Callable[[], nn.Module] = lambda: made(model)  # noqa: E731
    assert plan.styles is not None
    return plan.styles.verify(make, plan, meshes, 0, None, None).to_json()


def heard(text: str, model: dict[str, bool], sizes: dict[str, int], length: int) -> dict[str, Any]:
    """Runs on each rank: what one step of one sequence sends there, as a dry run tells it."""
    whole = made(model)
    plan = frozen(text, whole, **sizes)
    meshes = build_meshes(plan.topology)
    step = Step()
    applied = apply_plan(whole, plan, meshes, recorder=step.boundaries)
    place = Place()
    place.follow(whole, plan)
    words = plan.styles.words if plan.styles else {}
    order = {n: i for i, (n, _) in enumerate(whole.named_modules())}

    def listening(ledger: Ledger, direction: str, plain: bool = True) -> TorchCollectives:
        where = lambda: (place.boundary or "", words.get(place.boundary or "", ""))  # noqa: E731
        return TorchCollectives(ledger, meshes, where, direction, plain)

    place.at("the forward")
    with listening(step.boundaries, "forward"):
        output = whole(torch.arange(length).view(1, length))
    place.at("the backward")
    with listening(step.boundaries, "backward"):
        output.backward(torch.ones_like(output))
    place.at("summing gradients")
    applied.recorder = step.gradients
    with listening(step.gradients, "backward", plain=False):
        sync_gradients(whole)
    boundaries = [
        {"module": fqn, "kind": words.get(fqn), "place": plan.boundary(fqn).place, "communication": rows}
        for fqn, rows in sorted(step.boundaries.boundaries().items(), key=lambda item: order[item[0]])
    ]
    rows = [row for of_one in step.gradients.boundaries().values() for row in of_one]
    return {"boundaries": boundaries, "gradients": totals(rows)}


def held(tp: int) -> dict[str, int]:
    """Bytes of a rank's parameters where all projections and both ends are cut: told apart by hand."""
    norms, row_biases = (2 * 2 + 1) * HIDDEN, 2 * 2 * HIDDEN
    matrices = 2 * (4 * HIDDEN * HIDDEN + 2 * 2 * HIDDEN * HIDDEN + 2 * HIDDEN) + 2 * 32 * HIDDEN
    return {"replicated": (norms + row_biases) * 4, "sharded": matrices * 4 // tp}
