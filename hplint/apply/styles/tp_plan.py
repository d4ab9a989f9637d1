"""A ``tp_plan`` as it is applied: plain values, free of spans and of torch, that go from the checking process to the
ranks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hplint.errors import RequestError
from hplint.model.tree import Module, ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import Carrier, StyleEntry
from hplint.resolve.styles.resolved import ResolvedStyles, resolve_styles
from hplint.resolve.topology import Topology
from hplint.text.wording import quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from hplint.apply.mesh.meshes import Meshes
    from hplint.apply.plan import ApplyPlan
    from hplint.apply.run.place import Place
    from hplint.apply.verify.inputs import Inputs
    from hplint.apply.verify.verify import Verification


@dataclass(frozen=True, slots=True)
class TpRules:
    """One section (tp or ep) of a plan.

    ``rules`` are keys, as the whole model has them, and words: those of the plan together with what the model ships
    beside it. ``words`` are the same, found for each module and parameter of the model: parameters come before the
    module that they belong to. ``places`` maps names of modules and parameters to ``path:line`` of the entry that
    decides on them; rules that stand in no file have none. ``written`` are the entries of a ``tp_plan=`` argument,
    which the library lays over what the model ships; None for plans that stand elsewhere.
    """

    rules: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TpPlan:
    """A :class:`~hplint.apply.styles.dialect.StyledPlan`: ``tp`` cuts over the axis tp, ``ep`` spreads experts over the
    axis of the experts."""

    topology: Topology
    tp: TpRules = field(default_factory=TpRules)
    ep: TpRules = field(default_factory=TpRules)
    path: str = ""
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> Mapping[str, str]:
        """Name of a module, or of a parameter that has a rule of its own -> its word, of both sections."""
        every = {**self.tp.words, **self.ep.words}
        return {n: w for n, w in every.items() if every.get(n.rpartition(".")[0]) != w}

    def place(self, name: str) -> str:
        """Where the rule stands that decides on a module or parameter, "" where it has none in a file."""
        module = name.rpartition(".")[0]
        for rules in (self.ep, self.tp):
            for one in (name, module):
                if one in rules.places:
                    return rules.places[one]
        return ""

    def apply(self, model: "nn.Module", meshes: "Meshes") -> None:
        """Shard by the transformers library's own functions."""
        from hplint.apply.styles.tp_plan_apply import apply_tp_plan

        apply_tp_plan(model, self, meshes)

    def verify(
        self,
        make: "Callable[[], nn.Module]",
        plan: "ApplyPlan",
        meshes: "Meshes",
        seed: int,
        inputs: "Inputs | None",
        place: "Place | None",
    ) -> "Verification":
        """Compare outputs, with and without gradients, and every gradient with those of a single-process run."""
        from hplint.apply.styles.tp_plan_verify import verify_tp_plan

        return verify_tp_plan(make, plan, meshes, seed, inputs, place)


def tp_plan_of(plans: tuple[Plan, ...], tree: ModuleTree, topology: Topology) -> TpPlan:
    """Freeze the plans of one model, each of a section of its own.

    Raises RequestError for models that are not the library's, for a mesh that it cannot be applied on, for stages of a
    pipeline, for words that cannot be read, and for two plans of one section.
    """
    if not tree.owners:
        raise refused_model(tree.class_name)
    check_axes(topology)
    sections: dict[str, TpRules] = {}
    for plan in plans:
        section = (plan.carrier or Carrier()).section
        if section == "pp":
            raise RequestError("a pp_plan cannot be applied", "apply the tp_plan, on a mesh without pp")
        if section in sections:
            raise RequestError(f"there are two {section}_plans: {quote(plan.source.path)}", "name the file of one")
        sections[section] = _rules(plan, tree, topology)
    if (topology.ep or 1) > 1 and "ep" not in sections:
        sections["ep"] = _shipped_experts(tree)
    path = plans[0].source.path if plans else ""
    return TpPlan(topology, sections.get("tp", TpRules()), sections.get("ep", TpRules()), path)


def refused_model(name: str) -> RequestError:
    """Why a model that is not the library's cannot be applied to."""
    return RequestError(
        f"{quote(name or 'the model')} is no model of the transformers library, which applies tp_plans",
        "name the model as hf:DIR, or write a plan for parallelize_module",
    )


def check_axes(topology: Topology) -> None:
    """Raise RequestError for a mesh with other axes than tp and ep above 1."""
    tp, ep = topology.tp or 1, topology.ep or 1
    if tp < 2 and ep < 2:
        raise RequestError("a tp_plan cuts over tp, and the mesh has tp=1", "give the size, as in --mesh tp=2")
    for axis in ("cp", "dp", "pp"):
        if (topology.size(axis) or 1) > 1:
            hint = "leave that axis out of --mesh: it changes nothing about what the plan does"
            raise RequestError(f"a tp_plan is applied on tp alone, and the mesh has {axis}={topology.size(axis)}", hint)
    if ep > 1 and ep != tp:
        raise RequestError(
            f"experts over ep={ep} need as many ranks of tp here, and the mesh has tp={tp}",
            f"give --mesh tp={ep},ep={ep}: another ep takes FSDP, which is not applied",
        )


def _rules(plan: Plan, tree: ModuleTree, topology: Topology) -> TpRules:
    resolved = resolve_styles(plan, tree, topology)
    carrier = plan.carrier or Carrier()
    found: dict[str, str] = {}
    for entry in (*resolved.beside, *plan.styles):
        word = _word(entry, plan)
        for key in _keys(entry, resolved):
            found[key] = word
    written = None
    if carrier.kind == "argument":
        written = {e.key.value: _word(e, plan) for e in plan.styles if e.key is not None}
    names = dict(_expanded(tree, resolved))
    places = {n: _place(e, plan) for n, e in resolved.winners.items() if e not in resolved.beside and not e.shipped}
    return TpRules(found, {n: _word(e, plan) for n, e in names.items()}, places, written)


def _keys(entry: StyleEntry, resolved: ResolvedStyles) -> Iterator[str]:
    from hplint.resolve.tp_plan.match import generic

    if entry.key is None:
        return
    for root in dict.fromkeys(generic(r) for r in resolved.roots.get(entry.index, ("",))):
        yield f"{root}.{entry.key.value}" if root else entry.key.value


def _expanded(tree: ModuleTree, resolved: ResolvedStyles) -> Iterator[tuple[str, StyleEntry]]:
    """Each module and parameter that a rule reaches, in the library's order."""
    for module in tree.modules.values():
        own = resolved.winners.get(module.fqn)
        for full in _parameters(module):
            if entry := resolved.winners.get(full, own):
                yield full, entry
        if own is not None:
            yield module.fqn, own


def _parameters(module: Module) -> Iterator[str]:
    return (f"{module.fqn}.{name}" if module.fqn else name for name in module.parameters)


def _word(entry: StyleEntry, plan: Plan) -> str:
    if entry.style is None or entry.key is None:
        what = f"the word of `{entry.key.value}`" if entry.key else "a key"
        raise RequestError(f"{what} in {quote(plan.source.path)} cannot be read without running the file")
    return entry.style.name


def _place(entry: StyleEntry, plan: Plan) -> str:
    return f"{plan.source.path}:{plan.source.position(entry.span.start).line}"


def _shipped_experts(tree: ModuleTree) -> TpRules:
    """The ep plan that the model ships, for a tp plan that gives way to it."""
    from hplint.resolve.tp_plan.match import names_of
    from hplint.resolve.tp_plan.shipped import shipped_plan

    rules = {k: str(r.word) for k, r in shipped_plan(tree, "ep").items()}
    names = names_of(tree)
    by_name = {n: w for k, w in rules.items() for n in names.hits(k)}
    words: dict[str, str] = {}
    for module in tree.modules.values():
        own = by_name.get(module.fqn)
        for full in _parameters(module):
            if word := by_name.get(full, own):
                words[full] = word
        if own is not None:
            words[module.fqn] = own
    return TpRules(rules, words)
