"""A boundary: a module at whose entry and exit layouts change, with the layouts of its parameters."""

from dataclasses import dataclass, field
from typing import Any

from hplint.plan.entry import Entry, InnerOutSrc, Target, Text
from hplint.plan.layout import Layouts


@dataclass(slots=True)
class Boundary:
    """One module's contract, as derived, then as overrides left it.

    Layouts are as written or derived, over whatever axes they name; ``complete`` in resolve/layouts.py lays them out
    over the active axes. A contract field is None where it is unset (params, in_*) or cleared (out_*).
    ``kind`` is the derived type (attention, mlp, moe_mlp, norm, embed, lm_head, moe_gate, replicated), None for
    inserted boundaries. Paths in ``params`` are relative to the module.
    """

    fqn: str
    kind: str | None = None
    mode: str = "derived"
    """derived, merged (an entry touched a derived or inserted one) or inserted."""
    params: Layouts | None = None
    in_src: Layouts | None = None
    in_dst: Layouts | None = None
    out_src: Layouts | None = None
    out_dst: Layouts | None = None
    out_names: tuple[str, ...] | None = None
    region_dispatch: bool | None = None
    inner_target: Text | None = None
    inner_wrapper: Text | Target | None = None
    inner_out_src: InnerOutSrc | None = None
    local_compute_fn: Target | None = None
    tp_divide_attrs: tuple[Text, ...] | None = None
    auto_divided: tuple[str, ...] = ()
    """Attributes that are divided by tp without being asked (R131, R179)."""
    deferred_biases: tuple[str, ...] = ()
    """Row-wise biases that are added after the output communication (facts 2.7)."""
    ep_size: int | None = None
    """Set on boundaries whose experts go to the (edp, ep) mesh."""
    ep_stack: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Stacked parameter path -> the per-expert paths that go into it, in order."""
    origin: dict[str, Entry] = field(default_factory=dict)
    """Field -> the entry that set the value that counts; absent where derivation did."""
    touched: list[Entry] = field(default_factory=list)
    """Entries that landed here, in the order of application."""
    broken: set[str] = field(default_factory=set)
    """Fields of which nothing may be concluded: an entry wrote them in a way that could not be read."""

    def contract(self, name: str) -> Layouts | None:
        """The contract field of that name."""
        value: Any = getattr(self, name)
        return value  # type: ignore[no-any-return]
