"""Where the cursor stands in a YAML text that may not even parse: found by indentation and brackets alone."""

import re
from typing import NamedTuple

_LINE = re.compile(r"([ ]*)((?:-[ ]+|-$)*)(.*)", re.DOTALL)
_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#:,{}\[\]'"][^#:,{}\[\]]*?)\s*:(?=\s|$)""")
_COMMENT = re.compile(r"(?:^|\s)#")
_MOST_LINES = 400
"""Lines that are looked at above and below the cursor."""


class Cursor(NamedTuple):
    """``path`` are the keys around the cursor, from the entry inwards (``plan_overrides`` left out). ``on`` is key,
    value or comment; ``typed`` what stands before the cursor of the word that begins at ``start``. ``match`` is that of
    the entry around, ``others`` the keys that its mapping has already. ``top``: the cursor is in no entry."""

    path: tuple[str, ...]
    on: str
    typed: str
    start: int
    match: str | None = None
    others: frozenset[str] = frozenset()
    top: bool = False


class _Row(NamedTuple):
    """One line: the column at which its keys begin, whether a dash opens an entry there, and what it says."""

    column: int
    dash: bool
    text: str


def cursor_at(text: str, offset: int) -> Cursor:
    """The cursor's surroundings. Never raises, whatever the text."""
    lines = text.split("\n")
    number = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    if found := _COMMENT.search(_without_strings(before)):
        word = re.search(r"[\w.-]*$", before[found.start() :])
        typed = word[0] if word else ""
        return Cursor((), "comment", typed, offset - len(typed))
    first = max(0, number - _MOST_LINES)
    rows = [_row(line) for line in (*lines[first:number], before)]
    flow, line = _flow([*lines[first:number], before])
    outer = _path(rows[: line + 1]) if flow else _path(rows)
    if not flow:
        inner, on, typed = _block(rows[-1].text)
        path = (*outer, *inner)
    else:
        head, *rest = flow
        inner, _, _ = _block(head)
        path, on, typed = (*outer, *inner, *(k for k in rest[:-1] if k)), "key", rest[-1]
        if (pair := _KEY.match(typed)) and typed[pair.end() :].startswith((" ", "")):
            path, on, typed = (*path, _plain(pair[1])), "value", typed[pair.end() :].lstrip()
    entry = _entry(lines, first + (line if flow else len(rows) - 1))
    top = entry is None and bool(path[:1] not in ((), ("plan_overrides",)))
    path = path[1:] if path[:1] == ("plan_overrides",) else path
    typed = typed.lstrip("\"'")
    match, others = entry or (None, frozenset())
    if entry is None and path and "accelerator" not in path[:1]:
        match, path = path[0], path[1:]
    return Cursor(path, on, typed, offset - len(typed), match, others if not path and on == "key" else frozenset(), top)


def _row(line: str) -> _Row:
    found = _LINE.match(line.rstrip("\r"))
    assert found
    return _Row(len(found[1]) + len(found[2]), bool(found[2]), found[3])


def _plain(key: str) -> str:
    return key[1:-1] if key[:1] in "\"'" and key[-1:] == key[:1] and len(key) > 1 else key


def _block(text: str) -> tuple[tuple[str, ...], str, str]:
    """A block line up to the cursor: its key, if the cursor is behind one, and what is typed of the word there."""
    if pair := _KEY.match(text):
        return (_plain(pair[1]),), "value", text[pair.end() :].lstrip().lstrip("[{")
    return (), "key", text


def _path(rows: list[_Row]) -> tuple[str, ...]:
    """Keys of the blocks around the last row."""
    keys: list[str] = []
    column = rows[-1].column
    if rows[-1].dash:
        # The dash opens an entry: its keys stand further in than those that the line belongs to.
        column = min(column, len(rows[-1].text) and rows[-1].column)
    floor = column
    for row in reversed(rows[:-1]):
        if not row.text.strip() or row.text.lstrip().startswith("#"):
            continue
        if row.column < floor:
            if pair := _KEY.match(row.text):
                keys.append(_plain(pair[1]))
            floor = row.column
        if row.dash and row.column <= floor:
            floor = min(floor, row.column - 1)
    return tuple(reversed(keys))


def _flow(lines: list[str]) -> tuple[list[str], int]:
    """The text before each open bracket and behind the last one, and the row that the first one stands in; ([], 0)
    where no bracket is open."""
    open_: list[tuple[int, int]] = []
    base = max(0, len(lines) - 60)
    clean = [_without_comment(line) for line in lines]
    for number in range(base, len(clean)):
        quote = ""
        for place, letter in enumerate(clean[number]):
            if quote:
                quote = "" if letter == quote else quote
            elif letter in "\"'" and (place == 0 or clean[number][place - 1] in " {[,:"):
                quote = letter
            elif letter in "{[":
                open_.append((number, place))
            elif letter in "}]" and open_:
                open_.pop()
        if open_ and number > open_[0][0] and re.match(r"\s*- \w+:", clean[number]):
            open_ = []  # A bracket that nobody closed: the next entry is not in it.
    if not open_:
        return [], 0
    first = open_[0][0]
    parts = [_row(clean[first][: open_[0][1]]).text]
    for (row, place), (end_row, end) in zip(open_, (*open_[1:], (len(clean) - 1, len(clean[-1]))), strict=True):
        inside = (
            clean[row][place + 1 : end]
            if row == end_row
            else "\n".join((clean[row][place + 1 :], *clean[row + 1 : end_row], clean[end_row][:end]))
        )
        parts.append(_last_item(inside))
    keys = [_plain(found[1]) if (found := _KEY.match(p)) else "" for p in parts[1:-1]]
    return [parts[0], *keys, parts[-1]], first


def _last_item(text: str) -> str:
    """What stands behind the last comma that is in no bracket."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth <= 0:
            start = place + 1
    return text[start:].lstrip()


def _entry(lines: list[str], number: int) -> tuple[str | None, frozenset[str]] | None:
    """The match and the keys of the entry around a line; None where no dash opens one."""
    rows = [_row(line) for line in lines[: number + 1]]
    column = rows[number].column if rows[number].text.strip() else 10_000
    start = None
    for at in range(number, max(-1, number - _MOST_LINES), -1):
        row = rows[at]
        if row.dash and row.column <= column:
            start = at
            break
        if row.text.strip() and not row.dash:
            column = min(column, row.column)
    if start is None:
        return None
    home, match, keys = rows[start].column, None, set()
    for at in range(start, min(len(lines), start + _MOST_LINES)):
        row = _row(lines[at])
        if at > start and row.text.strip() and (row.column < home or (row.dash and row.column <= home)):
            break
        if row.column == home and (pair := _KEY.match(row.text)):
            keys.add(_plain(pair[1]))
            if _plain(pair[1]) == "match":
                match = _plain(_without_comment(row.text[pair.end() :]).strip()) or None
    return match, frozenset(keys)


def _without_strings(line: str) -> str:
    return re.sub(r"\"[^\"]*\"|'[^']*'", lambda s: "x" * len(s[0]), line)


def _without_comment(line: str) -> str:
    found = _COMMENT.search(_without_strings(line))
    return line[: found.start()] if found else line
