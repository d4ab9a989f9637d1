"""A whole run: paths -> documents -> pairings -> diagnostics."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hplint.derive.boundary import Boundary
from hplint.errors import RequestError
from hplint.lint.collect import collect
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.pairing import ModelChoice, Pairing, pair
from hplint.lint.registry import Registry
from hplint.lint.request import CheckedPlan, Request, Run, is_plain
from hplint.lint.run import Engine, fingerprint, merge_topologies
from hplint.lint.select import Selection, choose
from hplint.model.spec import SpecError, parse_spec
from hplint.model.store import ModelError, cache_folder, load_tree
from hplint.model.tree import ModuleTree
from hplint.plan.fault import Fault
from hplint.plan.plan import Document, Plan
from hplint.resolve.topology import Topology
from hplint.text.span import START
from hplint.text.wording import plural

if TYPE_CHECKING:
    from hplint.lint.baseline import Baseline
    from hplint.lint.per_file import PerFile
    from hplint.lint.ran import Ran
    from hplint.targets.find import TargetFinder

NO_SIZES = "no mesh sizes are known (give --mesh, a directive or an accelerator section): rules on sizes kept quiet"
NO_MODEL = "no model is named (give --model, a directive or a configuration): rules that need one kept quiet"


def lint(request: Request) -> Run:
    """Check everything that the request names. Raises RequestError where the request itself is wrong."""
    session = Session(request)
    collected = collect(request.paths, request.stdin, request.stdin_filename, request.skip_planless)
    documents = [*collected.documents, *([session.shipped()] if request.shipped else [])]
    examined = [session.examine(document) for document in documents]
    session.note_stale()
    return Run(
        files=len(documents),
        diagnostics=tuple(d for e in examined for d in e.diagnostics),
        plans=tuple(p for e in examined for p in e.plans),
        notes=tuple(session.notes),
        without_plan=tuple(collected.without_plan),
        suppressed=sum(len(e.suppressed) for e in examined),
        baselined=sum(len(e.baselined) for e in examined),
    )


def _once(found: list[Diagnostic]) -> list[Diagnostic]:
    """Drop what two plans of one file say alike of a token that they share."""
    kept = {(d.code, d.span, d.message, d.field): d for d in reversed(found)}
    return sorted(kept.values(), key=lambda d: (d.span, d.code))


class Examined(NamedTuple):
    """What was found in one file: ``diagnostics`` are told, ``suppressed`` and ``baselined`` ones are not."""

    diagnostics: list[Diagnostic]
    plans: list[CheckedPlan]
    suppressed: list[Diagnostic]
    baselined: list[Diagnostic]


@dataclass
class Session:
    """What the checks of one run share, each thing worked out once."""

    request: Request
    engine: Engine = field(init=False)
    trees: dict[tuple[object, ...], "ModuleTree | ModelError"] = field(default_factory=dict)
    derived: dict[tuple[int, Any], dict[str, Boundary]] = field(default_factory=dict)
    finders: dict[tuple[str, ...], "TargetFinder"] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    per_file: "tuple[PerFile, ...]" = ()
    baseline: "Baseline | None" = None
    engines: dict[frozenset[str], Engine] = field(default_factory=dict)
    """The engines of files in which some rules are ignored, by the codes of these."""

    def __post_init__(self) -> None:
        request, config = self.request, self.request.config
        registry = Registry(index_folder=cache_folder() if request.use_cache else None)
        severities, off = self._read_wishes(registry)
        selection = choose(
            registry,
            request.select or (config and config.select) or (),
            (*request.ignore, *(config.ignore if config else ())),
            (*request.extend_select, *(config.extend_select if config else ())),
            off,
        )
        settings: dict[str, Any] = {"wrapper_names": config.wrappers} if config else {}
        settings["reader"] = request.reader or (config and config.reader)
        self.engine = Engine(registry, selection, self._derive, settings, severities)

    def _read_wishes(self, registry: Registry) -> tuple[Mapping[str, str], frozenset[str]]:
        """Take in what few runs ask for; the severities that rules get, and the rules that do not run."""
        if is_plain(self.request):
            return {}, frozenset()
        from hplint.lint.wishes import read_wishes

        wishes = read_wishes(registry, self.request)
        self.per_file, self.baseline = wishes.per_file, wishes.baseline
        return wishes.severities.levels, wishes.severities.off

    def check_document(self, document: Document) -> tuple[list[Diagnostic], list[CheckedPlan]]:
        """All diagnostics of one file that are told, and its plans on their topologies."""
        examined = self.examine(document)
        return examined.diagnostics, examined.plans

    def examine(self, document: Document) -> Examined:
        """The same, with what comments and the baseline keep quiet."""
        engine = self._engine(document.source.path)
        found = engine.check_document(document) if document.faults else []
        plans: list[CheckedPlan] = []
        for plan in document.plans:
            checked = self.check(document, plan)
            plans += checked
            found += merge_topologies([(c.topology, list(c.diagnostics)) for c in checked])
        found.sort(key=lambda d: (d.span, d.code))
        # Named before some are left out: what is quiet keeps its ordinal.
        told = fingerprint(_once(found))
        suppressed: list[Diagnostic] = []
        baselined: list[Diagnostic] = []
        if document.suppressions:
            from hplint.lint.suppress import silence

            told, suppressed = silence(document, told, engine, self.ran(document, plans))
        if self.baseline:
            told, baselined = self.baseline.sort(document.source.path, told, self.ran(document, plans))
        return Examined(told, plans, suppressed, baselined)

    def ran(self, document: Document, plans: list[CheckedPlan]) -> "Ran":
        """Which rules looked at everything that a file holds, whose ``plans`` were checked."""
        from hplint.lint.ran import what_ran

        sizes = bool(plans) and all(p.topology.tp is not None for p in plans)
        engine = self._engine(document.source.path)
        return what_ran(document, plans, sizes, engine.registry, engine.selection)

    def note_stale(self) -> None:
        """Note the entries of the baseline that stand for nothing, once all files are checked."""
        if self.baseline and (count := self.baseline.count_stale()):
            what = plural(count, "entry", "entries")
            gone = "is stale: its finding is gone" if count == 1 else "are stale: their findings are gone"
            self.notes[f"{what} of the baseline {self.baseline.path} {gone}; --write-baseline drops what is stale"] = (
                None
            )

    def _engine(self, path: str) -> Engine:
        """The engine for a file: some rules may be ignored there."""
        if not self.per_file:
            return self.engine
        from hplint.lint.per_file import ignored_in

        ignored = ignored_in(path, self.per_file)
        if ignored not in self.engines:
            codes = self.engine.selection.codes
            chosen = frozenset(self.engine.registry.rules if codes is None else codes) - ignored
            self.engines[ignored] = replace(self.engine, selection=Selection(chosen))
        return self.engines[ignored] if ignored else self.engine

    def check(self, document: Document, plan: Plan) -> list[CheckedPlan]:
        """One plan on each of its topologies."""
        pairing, engine = pair(document, plan, self.request), self._engine(plan.source.path)
        tree, faults = self.tree_of(pairing)
        if not pairing.sizes_known:
            self.notes[NO_SIZES] = None
        checked = []
        for topology, own in pairing.topologies:
            of_case = (*faults, *pairing.faults, *own)
            finder = self._finder(pairing.src)
            diagnostics, resolved = engine.check(plan, tree, topology, finder, of_case)
            spec = pairing.model.spec if pairing.model else None
            found = tuple(diagnostics)
            checked.append(CheckedPlan(plan.source.path, plan, topology, spec, tree, resolved, found, finder, pairing))
        return checked

    def tree_of(self, pairing: Pairing) -> tuple[ModuleTree | None, tuple[Fault, ...]]:
        """The model of a plan, or the fault that there is none. Whoever cannot wait for a model overrides this."""
        choice = pairing.model
        if choice is None:
            self.notes[NO_MODEL] = None
            return None, ()
        # A Python factory may come from any of the source folders.
        key = (choice.spec, choice.base, pairing.src if choice.spec.startswith("py:") else ())
        if key not in self.trees:
            self.trees[key] = self.load(choice, pairing.src)
        found = self.trees[key]
        return (found, ()) if isinstance(found, ModuleTree) else (None, (unavailable(choice, found),))

    def shipped(self) -> Document:
        """The plan that the model itself ships. Raises RequestError where there is no such model or plan."""
        from hplint.lint.shipped_document import choice_for, shipped_for

        choice = choice_for(self.request)
        tree = load_model(choice.spec, self.request)
        self.trees[choice.spec, choice.base, ()] = tree
        return shipped_for(self.request, tree)

    def load(self, choice: ModelChoice, src: tuple[str, ...]) -> "ModuleTree | ModelError":
        """The tree that a choice names, or why it cannot be had. Raises SpecError for a request that names nothing."""
        request = self.request
        timeout = request.build_timeout or (request.config and request.config.build_timeout)
        options: dict[str, Any] = {"timeout": timeout} if timeout else {}
        try:
            spec = parse_spec(choice.spec, choice.base)
            return load_tree(spec, src=src, use_cache=request.use_cache, progress=request.progress, **options)
        except SpecError as error:
            if choice.span is None:
                raise
            return ModelError(error.message, error.hint)
        except ModelError as error:
            return error

    def _derive(self, tree: ModuleTree, topology: Topology) -> dict[str, Boundary]:
        config = self.request.config
        families: Mapping[str, Any] = config.families if config else {}
        key = (id(tree), _frozen(topology))
        if key not in self.derived:
            if config and config.boundaries:
                from hplint.derive.given import read_boundaries

                self.derived[key] = read_boundaries(Path(config.boundaries))
            elif config and config.planner == "hyper_parallel":
                from hplint.derive.installed import plan_boundaries

                self.derived[key] = plan_boundaries(tree, topology)
            else:
                from hplint.derive.derive import derive_boundaries

                self.derived[key] = derive_boundaries(tree, topology, families)
        return self.derived[key]

    def _finder(self, src: tuple[str, ...]) -> "TargetFinder":
        from hplint.targets.find import TargetFinder

        if src not in self.finders:
            self.finders[src] = TargetFinder([Path(s) for s in src])
        return self.finders[src]


def unavailable(choice: ModelChoice, error: ModelError) -> Fault:
    """The fault of a model that cannot be had."""
    data = {"spec": choice.spec, "reason": error.reason, "hint": error.hint, "implied": choice.implied}
    return Fault("model-unavailable", choice.span or START, data=data)


def load_model(spec: str, request: Request) -> ModuleTree:
    """Build (or fetch) the tree of a model that is named by itself, for ``model show`` and ``model build``.

    Raises RequestError when it cannot be had.
    """
    timeout = request.build_timeout or (request.config and request.config.build_timeout)
    options: dict[str, Any] = {"timeout": timeout} if timeout else {}
    try:
        parsed = parse_spec(spec, ".")
        return load_tree(
            parsed, src=(*request.src, "."), use_cache=request.use_cache, progress=request.progress, **options
        )
    except ModelError as error:
        raise RequestError(f"the model {spec} cannot be built: {error.reason}", error.hint) from None


def _frozen(topology: Topology) -> Any:
    return (*(getattr(topology, f) for f in topology.__slots__ if f != "mesh"), tuple(topology.mesh.items()))
