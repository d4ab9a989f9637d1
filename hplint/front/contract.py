"""Contract fields and inner_out_src: nodes -> layouts.

Faults recorded here, with their data:

- ``unknown-key``, at a field of the entry that stands in one of its contract fields: ``key``, ``section`` ("field"),
  ``allowed`` (none), ``meant`` (the key itself).
- ``invalid-sentinel`` (R39, R123), at the string: ``value``, ``allowed``.
- ``wrong-type`` (R40), at the value: ``value``, ``type``, ``allowed``.
- ``not-a-placement`` (R41-R44, R118), at the smallest token: ``problem``, ``value`` (plain), ``key`` (the place of the
  key that has the value), and where known ``tensor`` and ``axis``. ``problem`` is one of

  - ``text``: a string outside the grammar;
  - ``value``: no string (in Python: no placement object); ``type`` says what it is;
  - ``quoted-placement``: Python, a string where a placement object belongs; ``meant`` is its spelling as an object;
  - ``no-axis``: a tensor without an axis level; ``placement`` is the placement where one was written, else None;
  - ``empty``: a tensor with an empty mapping;
  - ``mixed``: bare placements beside named outputs, at the named output;
  - ``no-tensor``: ``{axis: placement}`` on a field of several tensors, at the axis; ``value`` holds all such items;
  - ``swapped``: ``{axis: {tensor: placement}}``, at the axis; ``value`` is the field's, ``meant`` the same with its
    levels in order;
  - ``no-space``: ``key:value`` in the place of a mapping item; ``name`` and ``rest`` are its two parts, ``whole`` is
    the place of the mapping that it should be an item of, ``meant`` what that should say (None where that is unknown);
  - ``axis-key``: an axis that is not a non-empty string.
- ``invalid-inner-out-src`` (R45, R46, R175), at the value: ``problem`` (``word``, ``empty`` or ``type``), ``value``,
  ``type``.
"""

from hplint.front.contract_slips import is_axis, is_field, is_placement, is_swapped, lacks_tensor, transposed, unglued
from hplint.front.keys import ENTRY_KEYS, FIRST_INPUT, PYTHON, SENTINELS
from hplint.front.nodes import Mapping, Node, PlacementNode, Scalar, UnknownNode, is_text, plain, type_name
from hplint.front.recorder import Recorder
from hplint.plan.entry import ContractField, InnerOutSrc
from hplint.plan.layout import OUTPUT, OUTPUT_FIELDS, Layout, Layouts
from hplint.plan.placement import Placement, parse
from hplint.text.span import Span

Pairs = list[tuple[Node, Node]]


class ContractReader:
    """Reads the layout-valued fields of one dialect."""

    def __init__(self, log: Recorder, dialect: str) -> None:
        self.log = log
        self.python = dialect == PYTHON
        self.misplaced: set[str] = set()
        """Entry fields that the contract fields of the current entry hold by mistake."""

    def contract_field(self, name: str, key: Span, node: Node) -> ContractField:
        """The value of params, in_src, in_dst, out_src or out_dst."""
        found = ContractField(key, node.span)
        match node:
            case Scalar(value=None):
                found.null = True
            case Scalar(value=str(), kind=""):
                if node.value in SENTINELS:
                    found.sentinel = str(node.value)
                elif parts := unglued(node):
                    self._no_space(node, parts, None, node.span)
                else:
                    self.log.add("invalid-sentinel", node.span, value=node.value, allowed=SENTINELS)
            case Mapping():
                node, moved = self._without_fields(name, node)
                shorthand = name in OUTPUT_FIELDS and self._is_bare(node)
                found.shorthand = shorthand
                found.layouts, whole = self.bare(node) if shorthand else self.named(node)
                found.partly_broken = moved or not whole
            case UnknownNode():
                pass
            case _:
                allowed = ENTRY_KEYS[name].allowed
                self.log.add("wrong-type", node.span, value=plain(node), type=type_name(node), allowed=allowed)
        return found

    def inner_out_src(self, node: Node) -> InnerOutSrc | None:
        """The value of inner_out_src; None (with a fault) where it cannot be read."""
        found = InnerOutSrc(node.span, written=plain(node))
        match node:
            case Scalar(value=str(), kind=""):
                if node.value == FIRST_INPUT:
                    found.first_input = True
                    return found
                problem = "word"
            case Mapping(items=items, merged=merged):
                if items or merged:
                    found.shorthand = self._is_bare(node)
                    found.layouts, whole = self.bare(node) if found.shorthand else self.named(node)
                    return found if whole else None
                problem = "empty"
            case UnknownNode():
                return None
            case _:
                problem = "type"
        self.log.add("invalid-inner-out-src", node.span, problem=problem, value=plain(node), type=type_name(node))
        return None

    def _without_fields(self, name: str, node: Mapping) -> tuple[Mapping, bool]:
        """A field's mapping without the entry fields that stand in it, one level too deep; whether there were any."""
        deep = [k for k, v in node.pairs() if isinstance(k, Scalar) and is_field(k, v)]
        if not deep:
            return node, False
        for key in deep:
            self.log.add("unknown-key", key.span, key=key.value, section="field", allowed=(), meant=key.value)
            self.misplaced.add(str(key.value))
        spans = {k.span for k in deep}
        kept = [(k, v) for k, v in node.items if k.span not in spans]
        merged = [(k, v) for k, v in node.merged if k.span not in spans]
        return Mapping(kept, node.span, node.flow, merged), True

    @staticmethod
    def _is_bare(node: Mapping) -> bool:
        """Whether the runtime takes the mapping for one layout: some value is not a mapping."""
        return any(not isinstance(value, (Mapping, UnknownNode)) for _, value in node.pairs())

    def bare(self, node: Mapping) -> tuple[Layouts, bool]:
        """``{axis: placement}`` of the one output, and whether all of it could be read."""
        layout, whole = self.layout(node, None, "field")
        if any(isinstance(value, Mapping) for _, value in node.pairs()):
            # Where bare and named ones are mixed, nobody knows which of the two the keys are.
            return {}, False
        return {OUTPUT: layout}, whole

    def named(self, node: Mapping) -> tuple[Layouts, bool]:
        """``{tensor: {axis: placement}}``, and whether all of it could be read. Unreadable tensors are left out."""
        layouts: Layouts = {}
        whole = True
        pairs = self.log.pairs(node, "field")
        if any(is_swapped(k, v) for k, v in pairs):
            pairs, whole = self._in_order(node, pairs), False
        if any(lacks_tensor(k, v) for k, v in pairs):
            pairs, whole = self._with_tensors(pairs), False
        for key, value in pairs:
            if not isinstance(key, Scalar):
                whole = False
                continue
            if parts := unglued(key, value):
                self._no_space(key, parts, None, node.span)
                whole = False
                continue
            tensor = str(key.value)
            match value:
                case Mapping(items=items, merged=merged) if items or merged or self.python:
                    layout, read = self.layout(value, tensor, "tensor")
                    layout.name_span = key.span
                    layouts[tensor] = layout
                    whole = whole and read
                    continue
                case Mapping():
                    self.log.add("not-a-placement", value.span, problem="empty", value={}, tensor=tensor, key=key.span)
                case UnknownNode():
                    pass
                case Scalar() if parts := self._layout_parts(value):
                    layouts[tensor] = self._glued(value, parts, tensor)
                    layouts[tensor].name_span = key.span
                case _:
                    self._no_axis(value, tensor, key.span)
            whole = False
        return layouts, whole

    def _in_order(self, node: Mapping, pairs: Pairs) -> Pairs:
        """The items with their levels in order, once it is recorded that they are not."""
        first = next(k for k, v in pairs if is_swapped(k, v))
        right = transposed(pairs, node.span)
        meant = None
        if all(isinstance(v, Mapping) and all(is_placement(p) for _, p in v.pairs()) for _, v in right.items):
            meant = {plain(t): {plain(a): _read(p) for a, p in v.pairs()} for t, v in right.items}  # type: ignore[union-attr]
        self.log.add(
            "not-a-placement", first.span, problem="swapped", value=plain(node), type="a mapping", axis=plain(first),
            tensor=None, key=first.span, meant=meant,
        )  # fmt: skip
        return right.items

    def _with_tensors(self, pairs: Pairs) -> Pairs:
        """The items that name a tensor, once it is recorded that others do not."""
        bare = [(k, v) for k, v in pairs if lacks_tensor(k, v)]
        value = {plain(k): plain(v) for k, v in bare}
        meant = {plain(k): _read(v) for k, v in bare} if all(is_placement(v) for _, v in bare) else None
        first = bare[0][0]
        self.log.add(
            "not-a-placement", first.span, problem="no-tensor", value=value, type="a mapping", axis=plain(first),
            tensor=None, key=first.span, meant=meant, alone=len(bare) == len(pairs),
        )  # fmt: skip
        return [(k, v) for k, v in pairs if not lacks_tensor(k, v)]

    @staticmethod
    def _layout_parts(node: Node) -> tuple[Scalar, Scalar] | None:
        """The two parts of ``axis:placement``."""
        parts = unglued(node)
        return parts if parts and (is_axis(parts[0]) or is_placement(parts[1])) else None

    def _glued(self, node: Scalar, parts: tuple[Scalar, Scalar], tensor: str | None) -> Layout:
        """The layout that ``axis:placement`` was meant to be."""
        axis, placement = str(parts[0].value), parse(str(parts[1].value))
        self._no_space(node, parts, tensor, node.span, {axis: placement} if placement else None)
        return Layout({axis: placement}, None, {axis: parts[0].span}, {axis: parts[1].span})

    def _no_space(
        self, node: Scalar, parts: tuple[Scalar, Scalar], tensor: str | None, whole: Span, meant: object = None
    ) -> None:
        self.log.add(
            "not-a-placement", Span(node.span.start, parts[0].span.end + 1), problem="no-space", value=node.value,
            type="a string", name=str(parts[0].value), rest=str(node.value)[len(str(parts[0].value)) + 1 :],
            tensor=tensor, key=node.span, whole=whole, meant=meant,
        )  # fmt: skip

    def _no_axis(self, node: Node, tensor: str, key: Span) -> None:
        placement = node.placement if isinstance(node, PlacementNode) else None
        if isinstance(node, Scalar) and isinstance(node.value, str):
            placement = parse(node.value)
        self.log.add(
            "not-a-placement", node.span, problem="no-axis", value=plain(node), type=type_name(node), tensor=tensor,
            placement=placement, key=key,
        )  # fmt: skip

    def layout(self, node: Mapping, tensor: str | None, section: str) -> tuple[Layout, bool]:
        """``{axis: placement}``, and whether all of it could be read. Unreadable placements are None."""
        placements: dict[str, Placement | None] = {}
        axes: dict[str, Span] = {}
        spans: dict[str, Span] = {}
        whole = True
        for key, value in self._separated(node, self.log.pairs(node, section), tensor):
            if not isinstance(key, Scalar):
                whole = False
                continue
            if not is_text(key) or not key.value:
                self.log.add(
                    "not-a-placement", key.span, problem="axis-key", value=key.value, type=type_name(key),
                    tensor=tensor, key=key.span,
                )  # fmt: skip
                whole = False
                continue
            axis = str(key.value)
            placement = self.placement(value, tensor, axis, key.span)
            placements[axis], axes[axis], spans[axis] = placement, key.span, value.span
            whole = whole and placement is not None
        return Layout(placements, None, axes, spans), whole

    def _separated(self, node: Mapping, pairs: Pairs, tensor: str | None) -> Pairs:
        """The items of a layout, those that are glued together taken apart and recorded: one fault for all of them."""
        found = [unglued(k, v) or (k, v) for k, v in pairs]
        glued = [k for (k, _), (part, _) in zip(pairs, found, strict=True) if part is not k]
        if glued and isinstance(glued[0], Scalar) and (parts := unglued(glued[0])):
            meant = {plain(k): _read(v) for k, v in found} if all(is_placement(v) for _, v in found) else None
            self._no_space(glued[0], parts, tensor, node.span, meant)
        return found

    def placement(self, node: Node, tensor: str | None, axis: str, key: Span) -> Placement | None:
        """One placement; None (with a fault, unless it is an expression) where it cannot be read."""
        if isinstance(node, UnknownNode):
            return None
        if isinstance(node, PlacementNode):
            return node.placement
        problem, meant = "value", None
        if isinstance(node, Scalar) and isinstance(node.value, str) and not node.kind:
            placement = parse(node.value)
            if placement and not self.python:
                return placement
            problem = "quoted-placement" if placement else "text"
            meant = _object(placement) if placement else None
        elif isinstance(node, Mapping) and tensor is None:
            problem = "mixed"
        self.log.add(
            "not-a-placement", node.span, problem=problem, value=plain(node), type=type_name(node), tensor=tensor,
            axis=axis, meant=meant, key=key,
        )  # fmt: skip
        return None


def _read(node: Node) -> Placement | None:
    return node.placement if isinstance(node, PlacementNode) else parse(plain(node))


def _object(placement: Placement) -> str:
    """The Python spelling of a placement."""
    return f"{placement.kind.capitalize()}({'' if placement.dim is None else placement.dim})"
