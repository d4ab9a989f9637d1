"""Mixtures of experts of transformers, a few numbers wide."""

import torch
from torch import nn

HIDDEN, INNER, EXPERTS, TOP = 8, 8, 4, 2


def block(family: str) -> nn.Module:
    """The mixture of one layer, with the same weights on every rank."""
    torch.manual_seed(11)
    module = _MAKERS[family]()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    for buffer in module.buffers():
        nn.init.normal_(buffer, std=0.1)
    return module.eval()


def _mixtral() -> nn.Module:
    from transformers.models.mixtral.modeling_mixtral import MixtralConfig, MixtralSparseMoeBlock

    return MixtralSparseMoeBlock(
        MixtralConfig(
            hidden_size=HIDDEN, intermediate_size=INNER, num_local_experts=EXPERTS, num_experts_per_tok=TOP,
            experts_implementation="eager",
        )
    )  # fmt: skip


def _qwen3() -> nn.Module:
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeConfig, Qwen3MoeSparseMoeBlock

    return Qwen3MoeSparseMoeBlock(
        Qwen3MoeConfig(
            hidden_size=HIDDEN, moe_intermediate_size=INNER, num_experts=EXPERTS, num_experts_per_tok=TOP,
            norm_topk_prob=True,
        )
    )  # fmt: skip


def _qwen2() -> nn.Module:
    from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeConfig, Qwen2MoeSparseMoeBlock

    return Qwen2MoeSparseMoeBlock(
        Qwen2MoeConfig(
            hidden_size=HIDDEN, moe_intermediate_size=INNER, num_experts=EXPERTS, num_experts_per_tok=TOP,
            shared_expert_intermediate_size=10, norm_topk_prob=False,
        )
    )  # fmt: skip


def _deepseek() -> nn.Module:
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Config, DeepseekV3MoE

    return DeepseekV3MoE(
        DeepseekV3Config(
            hidden_size=HIDDEN, moe_intermediate_size=INNER, n_routed_experts=8, num_experts_per_tok=TOP,
            n_shared_experts=1, n_group=4, topk_group=2, routed_scaling_factor=2.5,
        )
    )  # fmt: skip


class Listed(nn.Module):
    """Plain logits, and experts in a list, as models had before their weights were batched."""

    def __init__(self) -> None:
        super().__init__()
        self.top_k, self.norm_topk_prob = TOP, True
        self.gate = nn.Linear(HIDDEN, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x):
        tokens = x.reshape(-1, HIDDEN)
        weights, chosen = self.gate(tokens).softmax(-1).topk(TOP, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        result = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            share = (weights * (chosen == i)).sum(-1, keepdim=True)
            result = result + share * expert(tokens)
        return result.view(x.shape)


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Linear(HIDDEN, INNER, bias=False)
        self.w2 = nn.Linear(INNER, HIDDEN, bias=False)
        self.w3 = nn.Linear(HIDDEN, INNER, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.w2(self.act_fn(self.w1(x)) * self.w3(x))


_MAKERS = {"mixtral": _mixtral, "qwen3": _qwen3, "qwen2": _qwen2, "deepseek": _deepseek, "listed": Listed}
FAMILIES = tuple(_MAKERS)
