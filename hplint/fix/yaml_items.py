"""Items of written collections: taken out and put in, block and flow, with commas, comments and indentation."""

from collections.abc import Sequence
from typing import NamedTuple

from hplint.fix.edit import CannotRealise
from hplint.fix.yaml_comments import end_of_item, first_line, next_words, without_blanks
from hplint.fix.yaml_tree import Item, Piece, YamlTree
from hplint.lint.diagnostic import Edit
from hplint.text.span import Span


class NewItem(NamedTuple):
    """An item to put in, after another one (None: at the end). ``lines`` are its text without the dash, further lines
    relative to the first one; ``comment`` stands above it where there is room."""

    lines: Sequence[str]
    after: Item | None = None
    comment: str = ""
    apart: bool = False
    """Whether a blank line parts it from what stands above."""
    key: str = ""


def change_items(tree: YamlTree, parent: Piece, removed: set[Item], added: Sequence[NewItem]) -> list[Edit]:
    """The edits that take items out of one collection and put others in. Raises CannotRealise."""
    tree_items = [i for i in parent.items if i not in removed]
    if parent.flow:
        if tree.text[parent.token : parent.token + 1] not in ("{", "["):
            raise CannotRealise("a lone pair in a list cannot be edited")
        return _flow(tree, parent, removed, added)
    placed: dict[Item, list[NewItem]] = {}
    for new in added:
        after = new.after or (tree_items[-1] if tree_items else parent.items[-1])
        placed.setdefault(after, []).append(new)
    edits: list[Edit] = []
    gone = set(removed)
    for item, news in placed.items():
        if item in gone:
            gone.discard(item)
            edits.append(_replace_block(tree, item, news))
        else:
            edits.append(_insert_block(tree, item, news))
    if gone and len(gone) == len(parent.items):
        return [*edits, *_empty_block(tree, parent)]
    for run in _runs(parent.items, gone):
        edits += _remove_block(tree, run, parent)
    return edits


def merge_lines(tree: YamlTree, edits: Sequence[Edit]) -> list[Edit]:
    """Edits made for several collections, where they meet: lines that go are joined, lines that come at their end take
    their place, and what would change in them is dropped."""
    goes: list[Span] = []
    for edit in sorted(edits):
        start, end = edit.span
        if edit.text or tree.next_line(start) > end:
            continue
        if goes and start < goes[-1].end:
            start, end = goes[-1].start, max(goes.pop().end, end)
            goes.append(Span(*without_blanks(tree, start, end)) if end == len(tree.text) else Span(start, end))
        else:
            goes.append(edit.span)
    merged = [e for e in edits if not any(_lies_in(e.span, g) for g in goes)]
    for gone in goes:
        comes = [e.text for e in edits if e.span.start == e.span.end and _lies_in(e.span, gone)]
        text = "".join(t for t in comes if t.startswith(tree.eol))
        if text and gone.start == tree.line_start(gone.start):
            text = text[len(tree.eol) :] + tree.eol
        merged.append(Edit(gone, text))
    return merged


def _lies_in(span: Span, gone: Span) -> bool:
    if span.start == span.end:
        return gone.start < span.start < gone.end
    return gone.start <= span.start and span.end <= gone.end


def replace_block(tree: YamlTree, piece: Piece, text: str) -> list[Edit]:
    """A block collection gives way to a text on one line, next to what leads to it. Raises CannotRealise."""
    lead = tree.indicator_end(piece)
    if not tree.starts_line(piece.token):
        return [Edit(piece.span, text)]
    start, end = _lines_of(tree, piece.items)
    if lead is None:
        ended = tree.text[start:end].endswith(("\n", "\r"))
        return [Edit(Span(start, end), text + tree.eol if ended else text)]
    return [Edit(Span(lead, lead), f" {text}"), Edit(Span(*without_blanks(tree, start, end)), "")]


def _empty_block(tree: YamlTree, piece: Piece) -> list[Edit]:
    return replace_block(tree, piece, "{}" if piece.kind == "mapping" else "[]")


def _runs(items: Sequence[Item], gone: set[Item]) -> list[list[Item]]:
    """The items that go, neighbours together."""
    runs: list[list[Item]] = []
    open_run = False
    for item in items:
        if item in gone:
            if not open_run:
                runs.append([])
            runs[-1].append(item)
        open_run = item in gone
    return runs


def _lines_of(tree: YamlTree, run: Sequence[Item]) -> tuple[int, int]:
    """The whole lines of neighbouring items: where they begin, and where what follows begins."""
    return first_line(tree, run[0]), tree.next_line(end_of_item(tree, run[-1]))


def _remove_block(tree: YamlTree, run: Sequence[Item], parent: Piece) -> list[Edit]:
    if tree.starts_line(run[0].start):
        return [Edit(Span(*without_blanks(tree, *_lines_of(tree, run))), "")]
    # The first item stands behind a dash: what follows moves up to it.
    return [Edit(Span(run[0].start, next_words(tree, run[-1])), "")]


def _lead(tree: YamlTree, item: Item) -> str:
    """What stands between the start of an item and its text: nothing, or the dash and its spaces."""
    if item.key is not None:
        return ""
    between = tree.text[item.start : item.value.start]
    return between if between.strip(" ") == "-" and len(between) > 1 else "- "


def _block_text(tree: YamlTree, item: Item, new: NewItem) -> str:
    """The lines of a new sibling of an item, the first one without its indentation."""
    indent, lead = " " * tree.column(item.start), _lead(tree, item)
    lines = [f"{'' if n else lead}{line}" if not n or not line else f"{' ' * len(lead)}{line}"
             for n, line in enumerate(new.lines)]  # fmt: skip
    if new.comment:
        lines = [*(f"# {line}" for line in new.comment.splitlines()), *lines]
    return (tree.eol + indent).join(lines)


def _replace_block(tree: YamlTree, item: Item, news: Sequence[NewItem]) -> Edit:
    indent = " " * tree.column(item.start)
    text = ""
    for number, new in enumerate(news):
        apart = tree.eol if new.apart and number else ""
        if number:
            text += tree.eol + apart + indent
        text += _block_text(tree, item, new)
    # A comment behind the old item was about it.
    return Edit(Span(item.start, tree.line_end(item.end)), text)


def _insert_block(tree: YamlTree, item: Item, news: Sequence[NewItem]) -> Edit:
    end = end_of_item(tree, item)
    indent = " " * tree.column(item.start)
    text = "".join(
        f"{tree.eol * (1 + new.apart)}{indent}{_block_text(tree, item, new)}" for new in news
    )  # fmt: skip
    return Edit(Span(end, end), text)


# Flow collections


def _flow(tree: YamlTree, parent: Piece, removed: set[Item], added: Sequence[NewItem]) -> list[Edit]:
    kept = [i for i in parent.items if i not in removed]
    if not kept:
        inner = ", ".join(new.lines[0] for new in added)
        return [Edit(Span(parent.token + 1, parent.end - 1), inner)]
    edits: list[Edit] = []
    placed: dict[Item, list[str]] = {}
    for new in added:
        placed.setdefault(new.after or parent.items[-1], []).append(new.lines[0])
    gone = set(removed)
    for item, texts in placed.items():
        if item in gone:
            gone.discard(item)
            edits.append(Edit(Span(item.start, item.end), ", ".join(texts)))
        else:
            edits += _insert_flow(tree, parent, item, texts)
    for run in _runs(parent.items, gone):
        edits += _remove_flow(tree, run)
    if parent.items[-1] in gone and not _trails(tree, parent):
        # The comma behind the last one that stays would now trail: JSON refuses that.
        last = [i for i in parent.items if i not in gone][-1]
        comma = tree.comma(last.end)
        if comma is not None:
            edits.append(Edit(Span(comma - 1, comma), ""))
    return edits


def _remove_flow(tree: YamlTree, run: Sequence[Item]) -> list[Edit]:
    start, end = run[0].start, tree.comma(run[-1].end) or run[-1].end
    text = tree.text
    if tree.starts_line(start) and tree.ends_line(end):
        return [Edit(Span(first_line(tree, run[0]), tree.next_line(end)), "")]
    while text[end : end + 1] in (" ", "\t"):
        end += 1
    if text[end : end + 1] in ("}", "]") and tree.starts_line(start):
        # The bracket moves up to what stays, unless a comment would swallow it.
        above = len(text[:start].rstrip())
        if "#" not in text[tree.line_start(above) : above]:
            return [Edit(Span(above, end), "")]
    closes = text[end : end + 1] in ("", "}", "]", "\n", "\r", "#")
    if closes and not tree.starts_line(start):
        # Nothing follows on the line: the space in front goes, the one behind stays where a bracket had it.
        while text[start - 1] in (" ", "\t"):
            start -= 1
        end = tree.comma(run[-1].end) or run[-1].end
    return [Edit(Span(start, end), "")]


def _insert_flow(tree: YamlTree, parent: Piece, item: Item, texts: Sequence[str]) -> list[Edit]:
    comma = tree.comma(item.end)
    if not tree.starts_line(item.start) or not tree.ends_line(comma or item.end):
        if comma is not None and item is parent.items[-1]:
            return [Edit(Span(comma, comma), "".join(f" {t}," for t in texts))]
        return [Edit(Span(item.end, item.end), "".join(f", {t}" for t in texts))]
    indent = " " * tree.column(item.start)
    edits = [] if comma is not None else [Edit(Span(item.end, item.end), ",")]
    body = f",{tree.eol}{indent}".join(texts) + ("," if comma is not None else "")
    end = tree.line_end(comma or item.end)
    return [*edits, Edit(Span(end, end), f"{tree.eol}{indent}{body}")]


def _trails(tree: YamlTree, parent: Piece) -> bool:
    """Whether a comma stands behind the last item of a flow collection."""
    return tree.comma(parent.items[-1].end) is not None
