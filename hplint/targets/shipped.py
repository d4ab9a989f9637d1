"""The wrappers and factories that HyperParallel ships, as tables: used where HyperParallel is not installed.

Versions drift (the registry grew from four to nine names), so what only these tables say is never more than a warning.
"""

from typing import NamedTuple

ROOTS = ("hyper_parallel", "hyper_models")
"""Top-level packages under which HyperParallel has shipped its functions."""
WRAPPERS = "hyper_parallel.distributed.context_parallel.wrappers"
RECIPES = "hyper_parallel.distributed.expert_parallel.recipes"
QWEN3_MOE = "hyper_parallel.models.qwen3_moe.adapter.distributed"
QWEN3_MOE_REPLACEMENTS = "hyper_parallel.models.qwen3_moe.adapter.conversion.module_replacement"
KIMI_K3 = "hyper_parallel.models.kimi_k3"

REGISTRY = (
    "sdpa_qkv", "sdpa_hf", "flex_qkv", "flex_hf", "sdpa_qkv_ulysses", "flex_qkv_ulysses", "sdpa_hf_ulysses",
    "flex_hf_ulysses", "mla_dsa_ulysses",
)  # fmt: skip
"""Names that ``inner_wrapper`` may give as a string; the first four are in every version (facts 3)."""
SUFFIX = "_cp_wrapper"
"""A registry function is also importable under its name with this suffix."""

QKV = ("q", "k", "v")
HIDDEN = ("hidden_states",)


class Option(NamedTuple):
    """A keyword of a shipped function; ``annotation`` as Python spells it."""

    name: str
    annotation: str
    required: bool = False


class Shipped(NamedTuple):
    """One shipped function.

    ``mark`` is its decorator. ``needs_inputs`` are parameters that the wrapped forward must have by these names;
    ``first_three``: it takes the first three inputs as q, k and v. ``needs_children`` are attributes that the module of
    a factory must have. ``context`` tells a wrapper that needs an active cp axis and cannot dispatch. ``complete`` is
    false where the options are not all known.
    """

    name: str
    home: str
    mark: str
    options: tuple[Option, ...] = ()
    needs_inputs: tuple[str, ...] = ()
    first_three: bool = False
    needs_children: tuple[str, ...] = ()
    context: bool = False
    complete: bool = True

    @property
    def dotted(self) -> str:
        return f"{self.home}.{self.name}"


def _wrapper(name: str, **more: object) -> Shipped:
    inputs = more.pop("inputs", ())
    return Shipped(name + SUFFIX, WRAPPERS, "inner_wrapper", needs_inputs=inputs, context=True, **more)  # type: ignore[arg-type]


_DEGREE = (Option("ulysses_degree", "int", True),)
_ROUTED = ("gate", "experts")


def _recipe(name: str, *children: str) -> Shipped:
    return Shipped(name, RECIPES, "local_compute", needs_children=(*_ROUTED, *children))


TABLE: dict[str, Shipped] = {
    s.name: s
    for s in (
        _wrapper("sdpa_qkv", inputs=QKV),
        _wrapper("flex_qkv", inputs=QKV),
        _wrapper("sdpa_hf", inputs=HIDDEN),
        _wrapper("flex_hf", inputs=HIDDEN),
        _wrapper("sdpa_qkv_ulysses", first_three=True),
        _wrapper("flex_qkv_ulysses", first_three=True),
        _wrapper("sdpa_hf_ulysses"),
        _wrapper("flex_hf_ulysses"),
        _wrapper("mla_dsa_ulysses"),
        _wrapper("sdpa_qkv_load_balance", first_three=True),
        _wrapper("sdpa_hf_load_balance", inputs=HIDDEN),
        _wrapper("sdpa_qkv_hybrid", options=_DEGREE, first_three=True),
        _wrapper("flex_qkv_hybrid", options=_DEGREE, first_three=True),
        _wrapper("sdpa_hf_hybrid", options=_DEGREE),
        _wrapper("flex_hf_hybrid", options=_DEGREE),
        Shipped("qwen3_moe_flash_attention_cp_wrapper", f"{QWEN3_MOE}.context_parallel", "inner_wrapper", context=True),
        Shipped("qwen3_moe_cp_mask_wrapper", f"{QWEN3_MOE}.context_parallel", "inner_wrapper", context=True),
        Shipped("qwen3_moe_ulysses_cp_wrapper", f"{QWEN3_MOE}.context_parallel", "inner_wrapper", context=True),
        Shipped("kimi_delta_attention_ulysses_cp_wrapper", KIMI_K3, "inner_wrapper", context=True, complete=False),
        Shipped("kimi_delta_attention_p2p_cp_wrapper", KIMI_K3, "inner_wrapper", context=True, complete=False),
        Shipped("kimi_delta_attention_cp_wrapper", KIMI_K3, "inner_wrapper", context=True, complete=False),
        _recipe("routed_only_ep_compute_fn"),
        _recipe("mixtral_ep_compute_fn"),
        _recipe("qwen2moe_ep_compute_fn", "shared_expert", "shared_expert_gate"),
        _recipe("deepseekv3_ep_compute_fn", "shared_experts"),
        Shipped(
            "qwen3moe_ep_compute_fn", f"{QWEN3_MOE}.expert_parallel", "local_compute",
            (Option("use_grouped_gemm", "bool | None"),), needs_children=_ROUTED,
        ),
    )
}  # fmt: skip
"""Shipped functions by their last name."""

REMOVED: dict[str, str] = {
    "hf_native_ep_compute_fn": f"choose the recipe that fits the module in `{RECIPES}`",
    "hf_topk_router_ep_compute_fn": f"choose the recipe that fits the module in `{RECIPES}`",
    "npu_gqa_ulysses_cp_wrapper": "choose one of the ulysses wrappers, `sdpa_hf_ulysses` say",
    "replace_qwen3_moe_sparse_moe": f"the replacements are in `{QWEN3_MOE_REPLACEMENTS}`",
}
"""Names that newer versions lack (S53), and what to use instead."""
STALE_ROOTS = ("hyper_parallel.auto_models.components.", "hyper_models.components.")
"""Package roots that newer versions lack."""
STALE_DISTRIBUTED = tuple(f"{root}distributed" for root in STALE_ROOTS)
MOVED = {"replace_qwen3_moe_": QWEN3_MOE_REPLACEMENTS, "qwen3_moe_": f"{QWEN3_MOE}.context_parallel"}
"""First part of a name -> the module in which newer versions keep the functions that are called so."""
STALE_MODULES = {"cp_wrappers": WRAPPERS, "ep_compute": RECIPES}


def find_shipped(name_or_path: str) -> Shipped | None:
    """The shipped function that a registry name or a dotted path under HyperParallel's roots names, stale paths
    included."""
    if name_or_path in REGISTRY:
        return TABLE[name_or_path + SUFFIX]
    head, _, last = name_or_path.rpartition(".")
    return TABLE.get(last) if head.partition(".")[0] in ROOTS else None


def moved(dotted: str) -> str:
    """Where newer versions of HyperParallel have a function that went to another module; "" where that is unknown."""
    head, _, last = dotted.rpartition(".")
    known = TABLE.get(last)
    if head.partition(".")[0] not in ROOTS or last in REMOVED or (known and known.home == head):
        return ""
    module = STALE_MODULES.get(head.rpartition(".")[2])
    stale = head.startswith(STALE_ROOTS) or module is not None
    if known and known.home.count(".") > 2 and (stale or head == RECIPES):
        return known.dotted
    module = next((home for start, home in MOVED.items() if last.startswith(start)), module)
    return f"{module}.{last}" if stale and module else ""


def migration(dotted: str) -> str:
    """What to write instead of a path that newer versions of HyperParallel lack; "" where nothing is known of it."""
    head, _, last = dotted.rpartition(".")
    if head.partition(".")[0] in ROOTS and last in REMOVED:
        return REMOVED[last]
    if new := moved(dotted):
        known = TABLE.get(last)
        home = new.removesuffix(f".{last}")
        return f"write `{new}`" if known and known.dotted == new else f"its functions are in `{home}` now"
    known = TABLE.get(last)
    in_place = known is not None and known.home == head
    return (
        "the package is `hyper_parallel.distributed` now" if head.startswith(STALE_DISTRIBUTED) and not in_place else ""
    )


def near_shipped(dotted: str) -> tuple[str, ...]:
    """Shipped dotted paths that were perhaps meant, nearest first."""
    from hplint.text.near import near

    head, _, last = dotted.rpartition(".")
    there = [s for s in TABLE.values() if s.home == head]
    return tuple(f"{head}.{n}" for n in near(last, (s.name for s in there)))
