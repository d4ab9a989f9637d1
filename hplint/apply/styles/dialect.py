"""Where plans of styles meet what hplint does with a plan: what a dialect gives, and what it gets for it.

A plan of styles is applied by the library that it is written for. Its dialect has a :class:`StyledPlan`: plain values,
pickled to the ranks, with two methods that are called there. :func:`styled` wraps it into an
:class:`~hplint.apply.plan.ApplyPlan` whose ``styles`` it is, and whose boundaries are all modules of the model, without
contracts: so every part of the runner can name any module, and none of them moves a tensor of its own.

- :func:`hplint.apply.apply_plan` sees ``plan.styles`` and calls :func:`hplint.apply.styles.applied.apply_styles`, which
  calls ``apply`` and reads off the live model what the others need (an :class:`~hplint.apply.applied.Applied`):
  layouts of parameters from their DTensors, ties that were parted.
- ``--verify`` calls ``verify``, which may be no more than :func:`hplint.apply.verify.verify.verify`.
- ``--dry-run`` applies the plan to a model without values and records every collective of a step.
- The command freezes what it read with :func:`freeze`, which is the one place that knows the dialects by name.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from hplint.apply.plan import ApplyBoundary, ApplyPlan
from hplint.errors import RequestError
from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import TORCH
from hplint.resolve.topology import Topology

if TYPE_CHECKING:
    from torch import nn

    from hplint.apply.mesh.meshes import Meshes
    from hplint.apply.run.place import Place
    from hplint.apply.verify.inputs import Inputs
    from hplint.apply.verify.verify import Verification


class StyledPlan(Protocol):
    """A plan of styles as it is applied; its instances can be pickled, and hold neither spans nor torch."""

    @property
    def topology(self) -> Topology: ...

    @property
    def path(self) -> str:
        """The file that holds it."""

    @property
    def words(self) -> Mapping[str, str]:
        """Full name of a module (or parameter) -> its style, in words."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know of how it is applied, such as what the mesh has and the plan does not use."""

    def place(self, name: str) -> str:
        """``path:line`` of the entry that decides on a module or parameter, "" where it has none in a file."""

    def apply(self, model: "nn.Module", meshes: "Meshes") -> None:
        """Shard a model in place. Every rank calls it, with equal weights. Models on the meta device too.

        Raises CannotApply before anything was changed, ApplyFailed afterwards.
        """

    def verify(
        self,
        make: "Callable[[], nn.Module]",
        plan: ApplyPlan,
        meshes: "Meshes",
        seed: int,
        inputs: "Inputs | None",
        place: "Place | None",
    ) -> "Verification":
        """Compare the model under the plan with a single-process run; every rank calls it. ``plan`` is the one that
        has this as its ``styles``, ``make`` makes a model with equal values at each call."""


def styled(styles: StyledPlan, tree: ModuleTree, src: tuple[str, ...] = ()) -> ApplyPlan:
    """The plan as the runner takes it: every module of the model, as ``tree`` has them, children before parents."""
    words = styles.words
    names = sorted(tree.modules, key=lambda fqn: -(fqn.count(".") + 1 if fqn else 0))
    boundaries = tuple(ApplyBoundary(fqn, kind=words.get(fqn), place=styles.place(fqn)) for fqn in names)
    return ApplyPlan(boundaries, styles.topology, path=styles.path, src=src, styles=styles)


def freeze(plans: tuple[Plan, ...], tree: ModuleTree, topology: Topology, src: tuple[str, ...] = ()) -> ApplyPlan:
    """Freeze plans of styles of one dialect and one model. Raises RequestError for what cannot be read or applied."""
    if plans[0].dialect == TORCH:
        if len(plans) > 1:
            raise RequestError(f"--apply takes one plan; there are {len(plans)}", "name the file of one")
        from hplint.apply.styles.torch_plan import torch_plan_of

        return styled(torch_plan_of(plans[0], tree, topology), tree, src)
    from hplint.apply.styles.tp_plan import tp_plan_of

    return styled(tp_plan_of(plans, tree, topology), tree, src)
