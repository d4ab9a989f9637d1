"""Plans of styles: each entry gives the modules of a path one word or object that says how they are cut.

Two dialects are written so: PyTorch's ``parallelize_module`` plans (``torch``) and Hugging Face's ``tp_plan``s.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hplint.plan.entry import Keyword, Text
from hplint.text.span import START, Span

TORCH = "torch"
TP_PLAN = "tp_plan"
STYLE_DIALECTS = (TORCH, TP_PLAN)
"""Values of ``Plan.dialect`` whose plans hold styles and no entries."""


@dataclass(slots=True)
class Style:
    """One style: ``ColwiseParallel(…)`` of family torch, ``colwise`` of family hf.

    ``name`` is the class or word as written (aliases of imports resolved). ``base`` is the known style that a class of
    the file derives from, None for a known style itself and for one that is unknown. ``arguments`` maps keywords
    (``0``, ``1``, … stand for arguments by position) to values: plain Python, placements, lists and dicts of them, or
    UNKNOWN. ``open``: further arguments may be given that nobody can read.
    """

    name: str
    family: str
    span: Span
    arguments: Mapping[str, Keyword] = field(default_factory=dict)
    base: str | None = None
    open: bool = False

    @property
    def kind(self) -> str:
        """The known style that counts: the base of a subclass, else the style itself."""
        return self.base or self.name


class MeshUse(NamedTuple):
    """The mesh that a plan is applied on, as far as the file tells. ``axes`` are the names of its axes (None: unknown),
    ``size`` how many it has, ``picked`` the axis that was taken out of a larger mesh (``mesh["tp"]``), ``whole`` the
    axes of that mesh."""

    span: Span
    axes: tuple[str, ...] | None = None
    size: int | None = None
    picked: Text | None = None
    whole: tuple[str, ...] | None = None


class Earlier(NamedTuple):
    """A call that came before a plan was applied: ``kind`` (fully_shard, compile, checkpoint_wrapper), its place, and
    the steps to its module from where the application's own begin."""

    kind: str
    span: Span
    steps: tuple[str, ...]


class WrapPolicy(NamedTuple):
    """What FSDP wraps each by itself: ``name`` is the keyword, key or class that says so, ``classes`` the names of
    module classes. ``by_name``: they are texts, which a library looks up. ``whole`` is false where more may follow that
    cannot be read. ``owner``: the class that has it as an attribute, whose models alone it speaks of."""

    name: str
    classes: tuple[Text, ...]
    by_name: bool = False
    whole: bool = True
    owner: str | None = None


ANY = "*.*"
"""A step to a module itself and to all below it: a loop over ``modules()``. No segment of a key can say so."""


@dataclass(slots=True, eq=False)
class Application:
    """What a plan is applied to: one call, or one model class of the library.

    ``steps`` lead from what ``variable`` names to the module; a loop over layers is ``*``, one over all modules ANY.
    ``narrowed``: it is made for some of these alone. ``span`` marks the module argument. ``before`` are the calls on
    modules of the same variable that came earlier and matter.
    """

    steps: tuple[str, ...] = ()
    variable: str | None = None
    span: Span = START
    mesh: MeshUse | None = None
    before: tuple[Earlier, ...] = ()
    narrowed: bool = False

    @property
    def is_loop(self) -> bool:
        """Whether it is made for several modules."""
        return not {"*", ANY}.isdisjoint(self.steps)


class Carrier(NamedTuple):
    """Where a ``tp_plan`` stands: this says what its keys count from, and what it is laid over.

    ``section`` is tp, ep or pp. ``kind`` is one of

    - ``config``: ``base_model_tp_plan`` of a config class or config.json; keys count from the base model;
    - ``model``: ``_tp_plan`` of a model class; keys count from the modules of that class;
    - ``argument``: ``tp_plan={…}``, a DistributedConfig, a serving tool's file; keys count from the whole model, and
      the entries are laid over the plan that the model ships (an empty plan takes that away);
    - ``builtin``: the plan that a model ships, as the library puts it together; keys count from the whole model.

    ``owner`` is the class that has it, ``steps`` lead to the nested config that has it (``text_config``).
    """

    section: str = "tp"
    kind: str = "argument"
    owner: str | None = None
    steps: tuple[str, ...] = ()


@dataclass(slots=True)
class StyleEntry:
    """One item of a plan of styles.

    ``key`` is relative to ``applied``; None where it cannot be read. ``glob`` is true where parts of the key are known
    only at run time (layer numbers), which ``key`` then has as ``*``. ``style`` is None where it cannot be read.
    ``applied`` is None where the file does not say what the plan is applied to: it belongs where it fits best.
    ``shipped`` entries come with a library, not from the user. ``conditional`` ones are applied in some runs of
    the same code and not in others.
    """

    index: int
    key: Text | None
    style: Style | None
    span: Span
    applied: Application | None = None
    glob: bool = False
    shipped: bool = False
    conditional: bool = False

    @property
    def match(self) -> Text | None:
        """The key, as entries of other dialects call it."""
        return self.key

    @property
    def matches(self) -> tuple[Text, ...]:
        return () if self.key is None else (self.key,)

    @property
    def keys(self) -> Mapping[str, Span]:
        """Fields that were written: the arguments of the style."""
        return {n: k.key_span for n, k in self.style.arguments.items()} if self.style else {}
