"""Everything that the rules ask about one target, read when it is asked for."""

import ast
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hplint.targets.context import CONTEXT, MARK
from hplint.targets.find import Found, Missing
from hplint.targets.shipped import ROOTS, Shipped, find_shipped, migration, moved, near_shipped
from hplint.targets.signature import Parameter, Signature, signature_of

if TYPE_CHECKING:
    from hplint.targets.effects import Effect
    from hplint.targets.factory import Returned
    from hplint.targets.find import TargetFinder
    from hplint.text.source import Source


class Reading:
    """One target. Properties that need source are empty or None where there is none to read."""

    def __init__(self, finder: "TargetFinder", dotted: str, source: "Source | None" = None) -> None:
        self.dotted = dotted
        self._finder = finder
        self._source = source

    @cached_property
    def found(self) -> Found | Missing:
        """What the path names here. A Python plan's own functions are read from the text at hand."""
        if self.is_own and self._source is not None:
            return self._finder.find_in(self._source, self.dotted.partition(".")[2] or self.dotted)
        return self._finder.find(self.dotted)

    @property
    def is_own(self) -> bool:
        """Whether the path leads into the Python plan's own file (``<file's stem>.name``)."""
        if self._source is None:
            return False
        stem = self._source.path.replace("\\", "/").rpartition("/")[2].partition(".")[0]
        return "." not in self.dotted or self.dotted.partition(".")[0] == stem

    @property
    def is_hyper_parallel(self) -> bool:
        """Whether the path is under HyperParallel's own roots."""
        return self.dotted.partition(".")[0] in ROOTS

    @cached_property
    def installed(self) -> bool:
        """Whether the top-level package of the path is found here."""
        return isinstance(self.found, Found) or self.found.package_found

    @property
    def shipped(self) -> Shipped | None:
        """The table's row for a function that HyperParallel ships."""
        return find_shipped(self.dotted)

    @property
    def migration(self) -> str:
        """What to write instead of a path that newer versions of HyperParallel lack, "" if nothing is known."""
        return migration(self.dotted)

    @property
    def moved(self) -> str:
        """Where newer versions of HyperParallel have it, "" if that is unknown."""
        return moved(self.dotted)

    @property
    def near_shipped(self) -> tuple[str, ...]:
        """Shipped paths that were perhaps meant."""
        return near_shipped(self.dotted) if self.is_hyper_parallel else ()

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """One signature for each branch that may have defined it; empty where any of them cannot be told."""
        if isinstance(self.found, Missing):
            shipped = self.shipped if self.is_hyper_parallel and not self.found.package_found else None
            return (_of_table(shipped),) if shipped and shipped.complete else ()
        signatures = [signature_of(d, self._finder.lookup) for d in self.found.definitions]
        return tuple(s for s in signatures if s) if all(signatures) else ()

    @cached_property
    def marks(self) -> frozenset[str] | None:
        """The registering decorators that it carries in at least one branch; None where that cannot be told."""
        marks: set[str] = set()
        for signature in self.signatures:
            if signature.marks is None:
                return None
            marks |= signature.marks
        return frozenset(marks) if self.signatures else None

    @cached_property
    def returned(self) -> "tuple[Returned, ...]":
        """What the factory may return; empty where that cannot be told."""
        from hplint.targets.factory import returned_by

        definitions = self.found.definitions if isinstance(self.found, Found) else ()
        return tuple(r for d in definitions if d.kind == "function" for r in returned_by(d, self._finder.lookup))

    @cached_property
    def effect(self) -> "Effect":
        """Whether its source communicates or calls a custom kernel."""
        from hplint.targets.effects import Effect, effect_of

        if isinstance(self.found, Found) and len(self.found.definitions) == 1:
            return effect_of(self.found.definitions[0], self._finder.lookup)
        if self.shipped and (self.shipped.context or self.shipped.mark == "local_compute"):
            return Effect("yes", "communication", self.shipped.name, "shipped with HyperParallel")
        return Effect("unknown")

    def calls_itself(self) -> "tuple[Signature, int] | None":
        """A compute function that calls the module it stands in for, and the line of the call (S25)."""
        from hplint.targets.factory import calls_itself

        for returned in self.returned:
            if returned.signature and (line := calls_itself(returned.signature)):
                return returned.signature, line
        return None

    def fits(self, signature: Signature, parameter: Parameter, value: Any) -> bool | None:
        """Whether a configured value fits a parameter's annotation (R29); None where that cannot be told."""
        from hplint.targets.annotation import Annotations

        if value is None and parameter.none_default:
            return None
        definition = signature.definition
        home = definition.home if definition else None
        return Annotations(home, self._finder.lookup).fits(value, parameter.annotation)

    def example(self, signature: Signature, parameter: Parameter) -> Any:
        """A value that fits a parameter's annotation, to be replaced by the right one; None where any may do."""
        from hplint.targets.annotation import examples

        fitting = (v for v in examples(parameter.annotation) if self.fits(signature, parameter, v))
        return next(fitting, None)

    @staticmethod
    def spell(parameter: Parameter) -> str:
        """The annotation as written."""
        if isinstance(parameter.annotation, ast.Constant) and isinstance(parameter.annotation.value, str):
            return parameter.annotation.value
        try:
            return ast.unparse(parameter.annotation) if parameter.annotation else ""
        except RecursionError:
            return "…"

    @property
    def classes(self) -> tuple[str, ...]:
        """For a path that should name a class: where each class that it may name is really defined; empty where that
        cannot be told."""
        found = self.found
        if isinstance(found, Missing) or any(d.kind != "class" for d in found.definitions):
            return ()
        return tuple(d.dotted for d in found.definitions)


def _of_table(shipped: Shipped) -> Signature:
    context = [Parameter(n, "positional", True) for n in CONTEXT[_field(shipped.mark)]]
    options = [
        Parameter(o.name, "keyword", o.required, ast.parse(o.annotation, mode="eval").body) for o in shipped.options
    ]
    return Signature(shipped.name, (*context, *options), frozenset((shipped.mark,)))


def _field(mark: str) -> str:
    return next(f for f, m in MARK.items() if m == mark)
