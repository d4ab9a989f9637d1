"""JSON with comments, as VS Code's files have it: members are added as text, so that comments and layout stay."""

import json
import re
from typing import Any, NamedTuple

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<mark>[{}\[\],:])|(?P<space>\s+)|(?P<word>[^\s{}\[\],:"/]+)',
    re.S,
)


class JsoncError(ValueError):
    """A text that is no JSON with comments, or has something else where a member should be added."""


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Container(NamedTuple):
    """``close`` is the place of the closing bracket; ``last`` the end of the last thing in it, comments left out, None
    where it is empty; ``comma``: a comma follows that already. ``depth`` counts the brackets around it."""

    close: int
    last: int | None
    comma: bool
    depth: int


def parse(text: str) -> Any:
    """The value that the text has, comments and trailing commas left out. Raises JsoncError."""
    kept: list[str] = []
    for token in _tokens(text):
        if token.kind in ("comment", "space"):
            continue
        if token.text in ("}", "]") and kept and kept[-1] == ",":
            kept.pop()
        kept.append(token.text)
    try:
        return json.loads(" ".join(kept)) if kept else {}
    except (ValueError, RecursionError) as error:
        raise JsoncError(str(error)) from None


def add_member(text: str, path: tuple[str, ...], key: str, value: Any) -> str:
    """The text with a member more in the object at ``path``, which must not have it yet. Raises JsoncError."""
    return _added(text, path, f"{json.dumps(key)}: ", value, {}, key)


def add_item(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with an item more in the array at ``path``. Raises JsoncError."""
    return _added(text, path, "", value, [], None)


def _added(text: str, path: tuple[str, ...], lead: str, value: Any, empty: Any, key: str | None) -> str:
    wanted = parse(text)
    here = wanted
    for part in path:
        here = here.get(part) if isinstance(here, dict) else None
    if type(here) is not type(empty) or (key is not None and key in here):
        raise JsoncError(f"{'.'.join(path) or 'the top'} cannot take it")
    if key is None:
        here.append(value)
    else:
        here[key] = value
    place = _find(text, path)
    unit = _indent(text)
    inner, outer = unit * (place.depth + 1), unit * place.depth
    body = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{inner}")
    if place.last is None:
        head, tail, comma = text[: place.close].rstrip(), text[place.close :], ""
        made = f"{head}\n{inner}{lead}{body}\n{outer}{tail}"
    else:
        comma = "" if place.comma else ","
        rest = text[place.last : place.close].rstrip()
        made = f"{text[: place.last]}{comma}{rest}\n{inner}{lead}{body}\n{outer}{text[place.close :]}"
    if parse(made) != wanted:
        raise JsoncError("it is written in a way that is not understood")
    return made


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise JsoncError(f"unexpected {text[at]!r}")
        found.append(_Token(match.lastgroup, match[0], at))
        at = match.end()
    return found


def _find(text: str, path: tuple[str, ...]) -> _Container:
    """The container at ``path``; a key that stands twice means its last."""
    keys: list[str | None] = []
    word: str | None = None
    stack: list[list[Any]] = []  # end of the last thing, whether a comma follows it
    found: _Container | None = None
    for token in _tokens(text):
        if token.kind in ("comment", "space"):
            continue
        if token.text in ("{", "["):
            keys.append(word if stack else None)
            stack.append([None, False])
            word = None
        elif token.text in ("}", "]"):
            if not stack:
                raise JsoncError("unbalanced brackets")
            last, comma = stack.pop()
            if tuple(keys[1:]) == path:
                found = _Container(token.start, last, comma, len(stack))
            keys.pop()
            if stack:
                stack[-1] = [token.end, False]
        elif token.text == "," and token.kind == "mark":
            if stack:
                stack[-1] = [token.end, True]
            word = None
        elif token.kind != "mark":
            word = json.loads(token.text) if token.kind == "string" else None
            if stack:
                stack[-1] = [token.end, False]
    if found is None:
        raise JsoncError("there is no such place")
    return found


def _indent(text: str) -> str:
    first = re.search(r"\n([ \t]+)[^\s]", text)
    return first[1] if first else "    "
