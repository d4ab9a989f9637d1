"""Values as a Python file spells them: its quotes, its names for placements and axes, lines no longer than its own."""

import ast
import keyword
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hplint.fix.edit import CannotRealise
from hplint.fix.python_lines import Lines
from hplint.fix.python_names import Names
from hplint.fix.python_tree import PythonTree
from hplint.front.keys import PYTHON_ORDER
from hplint.front.python.scope import AXES, MESH_AXIS, SPEC, TARGET
from hplint.plan.entry import UNKNOWN
from hplint.plan.placement import Placement, parse
from hplint.plan.plan import Plan
from hplint.text.span import Span

TARGET_KEY = "_target_"
_SHORT = {axis: word for word, axis in AXES.items()}
_MEMBERS = frozenset(("tp", "cp", "ep", "pp", "dp", "dp_replicate", "dp_shard", "dp_cp", "ep_shard"))


@dataclass(frozen=True, slots=True)
class Group:
    """A bracketed list of values, each with what stands before it (``key: ``, ``keyword=``)."""

    left: str
    items: "Sequence[tuple[str, Written]]"
    right: str


Written = str | Group


def inline(written: Written) -> str:
    """A value on one line."""
    if isinstance(written, str):
        return written
    return written.left + ", ".join(before + inline(v) for before, v in written.items) + written.right


def laid_out(written: Written, indent: str, column: int, lines: Lines, spare: int = 1) -> str:
    """A value on one line where it fits, else with a line for each item. ``indent`` is that of the line on which it
    starts, ``spare`` the room for what follows it."""
    text = inline(written)
    if isinstance(written, str) or not written.items or column + len(text) + spare <= lines.width:
        return text
    deeper = indent + lines.step
    body = "".join(
        f"{lines.eol}{deeper}{before}{laid_out(v, deeper, len(deeper) + len(before), lines)},"
        for before, v in written.items
    )
    return f"{written.left}{body}{lines.eol}{indent}{written.right}"


def string(text: str, quote: str) -> str:
    """A string literal."""
    other = "'" if quote == '"' else '"'
    if quote in text and other not in text:
        quote = other
    if not text.isprintable():
        text = repr(text + '"' if quote == "'" else text + "'")[1:-2]
        return quote + text.replace(quote, "\\" + quote).replace("\\\\" + quote, "\\" + quote) + quote
    return quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


@dataclass(slots=True)
class Writer:
    """Spells values for one plan of one file. ``at`` is always the offset where the value will stand."""

    tree: PythonTree
    lines: Lines
    names: Names
    plan: Plan
    quote: str = '"'
    spellings: dict[str, Counter[str]] = field(default_factory=dict)
    """Axis -> the names that the plan has for it, and how often."""
    quoted_axes: int = 0

    def __post_init__(self) -> None:
        marks: Counter[str] = Counter()
        constants: dict[Span, str] = {}
        for node in ast.walk(self.tree.module):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                span = self.tree.places.span(node)
                mark = self.tree.text[span.start : span.start + 3]
                if mark[:1] in "'\"" and mark not in ('"""', "'''"):
                    marks[mark[:1]] += 1
        for node in self.tree.module.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        constants[self.tree.places.span(node.value)] = target.id
        self.quote = "'" if marks["'"] > marks['"'] else '"'
        for entry in self.plan.entries:
            for contract in entry.contract.values():
                for layout in (contract.layouts or {}).values():
                    for axis, span in layout.axis_spans.items():
                        self._learn(axis, span, constants)

    def _learn(self, axis: str, span: Span, constants: Mapping[Span, str]) -> None:
        text = constants.get(span) or self.tree.cut(span)
        if span in constants or self.names.axis(text, span.start) == axis:
            self.spellings.setdefault(axis, Counter())[text] += 1
        elif text[:1] in ("'", '"'):
            self.quoted_axes += 1

    def string(self, text: str) -> str:
        """A string in the file's quotes."""
        return string(text, self.quote)

    def value(self, value: Any, at: int, placements: bool = True) -> Written:
        """Any value of a plan. ``placements``: whether strings that spell one stand for it. Raises CannotRealise for
        values that Python plans do not hold."""
        match value:
            case Placement():
                return self._placement(value, at)
            case str():
                placement = parse(value) if placements else None
                return self._placement(placement, at) if placement else self.string(value)
            case None | bool() | int():
                return repr(value)
            case float() if value == value and value not in (float("inf"), float("-inf")):
                return repr(value)
            case Mapping() if TARGET_KEY in value:
                return self._target(value, at)
            case Mapping() if is_layout(value) and placements:
                return Group("{", [(f"{self.axis(str(k), at)}: ", self.value(v, at)) for k, v in value.items()], "}")
            case Mapping():
                pairs = [(f"{self.string(str(k))}: ", self.value(v, at, placements)) for k, v in value.items()]
                return Group("{", pairs, "}")
            case _ if isinstance(value, Sequence) and value is not UNKNOWN:
                return Group("[", [("", self.value(v, at, False)) for v in value], "]")
        raise CannotRealise("the value has no spelling in a Python plan")

    def spec(self, fields: Mapping[str, Any], at: int) -> Group:
        """``ModuleShardingSpec(…)``."""
        given = [(f, v) for f, v in fields.items() if f != "match"]
        return Group(f"{self._spec_name(at)}(", [(f"{f}=", self.field(f, v, at)) for f, v in given], ")")

    def field(self, field: str, value: Any, at: int) -> Written:
        """The value of an entry's field. Raises CannotRealise for fields that only plan files know."""
        if field not in PYTHON_ORDER:
            raise CannotRealise(f"a Python plan has no `{field}`")
        return self.value(value, at)

    def axis(self, axis: str, at: int, beside: str = "") -> str:
        """An axis as a key, spelled as the plan spells its axes; ``beside`` is the token that it replaces."""
        known = self.spellings.get(axis)
        if known and not beside:
            name, count = known.most_common(1)[0]
            if count > 0 and (self.quoted_axes <= sum(c.total() for c in self.spellings.values())):
                return name
        named = sum(c.total() for c in self.spellings.values())
        styles = [beside] if beside else [n for c in self.spellings.values() for n, _ in c.most_common()]
        if not beside and self.quoted_axes > named:
            return self.string(axis)
        for style in styles:
            head = style.rpartition(".")[0]
            path = self.names.path(head, at) or head
            if head and path.rpartition(".")[2] == MESH_AXIS:
                return f"{head}.{axis.upper()}" if axis in _MEMBERS else self.string(axis)
            if axis in _SHORT and self.names.axis(style, at) is not None:
                return f"{head}.{_SHORT[axis]}" if head else self.names.spell(_SHORT[axis], at)
        if axis in _SHORT and not styles and not self.quoted_axes:
            return self.names.known(_SHORT[axis], at) or self.string(axis)
        member = self.names.member(axis, at) if styles and axis in _MEMBERS else None
        return member or self.string(axis)

    def _placement(self, placement: Placement, at: int) -> str:
        dim = "" if placement.dim is None else placement.dim
        return f"{self.names.spell(placement.kind.capitalize(), at)}({dim})"

    def _target(self, value: Mapping[str, Any], at: int) -> Group:
        items: list[tuple[str, Written]] = [("", self.string(str(value[TARGET_KEY])))]
        for key, given in value.items():
            if key == TARGET_KEY:
                continue
            if not key.isidentifier() or keyword.iskeyword(key):
                raise CannotRealise(f"`{key}` is no keyword of a call")
            items.append((f"{key}=", self.value(given, at, False)))
        return Group(f"{self.names.spell(TARGET, at)}(", items, ")")

    def _spec_name(self, at: int) -> str:
        return self.names.spell(SPEC, at)


def is_layout(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping lays out one tensor: axis -> placement."""
    return bool(value) and all(
        isinstance(v, Placement) or (isinstance(v, str) and parse(v) is not None) for v in value.values()
    )
