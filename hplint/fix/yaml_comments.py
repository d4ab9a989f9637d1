"""Which lines belong to an item of a block collection: its own, the comments above it, the deeper ones below it."""

import re

from hplint.fix.yaml_tree import Item, YamlTree

_DIRECTIVE = re.compile(r"#\s*(?:hplint:(?!\s*ignore\b)|hplint:\s*ignore-file|yaml-language-server:|yamllint\b)")
_FIRST_TOKEN = re.compile(r"[ \t]*")


def first_line(tree: YamlTree, item: Item) -> int:
    """Where the first line of an item begins, the comment lines that belong to it included: those directly above it at
    its own column. Directives stay, and so does what heads the file."""
    start = tree.line_start(item.start)
    column = tree.column(item.start)
    found = start
    while found > 0:
        above = tree.line_start(_before(tree, found))
        if above >= found:
            break
        indent = _indent(tree, above)
        if indent != column or not tree.text.startswith("#", above + indent):
            break
        if _DIRECTIVE.match(tree.text, above + indent):
            return found
        found = above
        if above == tree.line_start(0) or above == 0:
            return start
    return found


def end_of_item(tree: YamlTree, item: Item) -> int:
    """The end of the last line of an item, its line end left out; comment lines below that are deeper than the item
    belong to it."""
    end = tree.line_end(item.end)
    column = tree.column(item.start)
    while True:
        below = tree.next_line(end)
        if below <= end or below >= len(tree.text):
            return end
        indent = _indent(tree, below)
        if indent <= column or not tree.text.startswith("#", below + indent):
            return end
        end = tree.line_end(below)


def next_words(tree: YamlTree, item: Item) -> int:
    """Where the first comment or token behind an item stands."""
    at = tree.next_line(end_of_item(tree, item))
    while tree.starts_line(tree.line_end(at)) and at < len(tree.text):
        at = tree.next_line(at)
    return at + _indent(tree, at)


def without_blanks(tree: YamlTree, start: int, end: int) -> tuple[int, int]:
    """Whole lines that go, with the blank lines that would then double or trail; a text without a final line end
    keeps lacking it. ``start`` and ``end`` begin lines, ``end`` may be the end of the text."""
    text = tree.text
    blank_above = start <= tree.line_start(0) or _is_blank_line(tree, _before(tree, start))
    if end < len(text) and blank_above:
        while end < len(text) and _is_blank_line(tree, end):
            end = tree.next_line(end)
    if end < len(text) or tree.keeps:
        return start, end
    ended = text.endswith(("\n", "\r"))
    while start > 0 and _is_blank_line(tree, _before(tree, start)):
        start = tree.line_start(_before(tree, start))
    if not ended and start > 0:
        start = _before(tree, start)
    return start, end


def _before(tree: YamlTree, line: int) -> int:
    """The offset of the line end in front of a line."""
    return line - 2 if tree.text.startswith("\r\n", line - 2) else line - 1


def _indent(tree: YamlTree, line: int) -> int:
    found = _FIRST_TOKEN.match(tree.text, line)
    return found.end() - line if found else 0


def _is_blank_line(tree: YamlTree, at: int) -> bool:
    return not tree.text[tree.line_start(at) : tree.line_end(at)].strip(" \t")
