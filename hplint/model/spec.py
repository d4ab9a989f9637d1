"""Model specs: the words with which a user names a model.

``hf:DIR-or-id``, ``py:package.module:factory``, ``py:path/file.py:factory``, ``safetensors:DIR``, ``tree:FILE``. A bare
folder with a config.json is ``hf:``, a bare ``x.py:f`` is ``py:``, a bare ``.json`` file is ``tree:``.
"""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from hplint.model.failure import SpecError
from hplint.model.hub import HUB_ID, snapshot
from hplint.text.near import near
from hplint.text.wording import listing, quote

__all__ = ["KINDS", "ModelSpec", "SpecError", "parse_spec"]

KINDS = ("hf", "py", "safetensors", "tree")
_FORMS = "a model is given as hf:DIR-or-id, py:package.module:factory, py:file.py:factory, safetensors:DIR or tree:FILE"
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


class ModelSpec(NamedTuple):
    """One model, named and looked up; nothing is read yet.

    ``path`` is absolute: the folder of ``hf`` and ``safetensors``, the file of ``tree`` and of ``py`` with a file; ""
    for a ``py`` module and for a hub id that is not in the local hub cache. ``name`` is the hub id or dotted module.
    ``arguments`` go to a ``py`` factory. ``base`` is the folder that relative paths start from.
    """

    kind: str
    text: str
    path: str
    base: str
    name: str = ""
    factory: str = ""
    arguments: tuple[tuple[str, Any], ...] = ()


def parse_spec(text: str, base: str | Path) -> ModelSpec:
    """Read a spec; relative paths start at ``base``. Raises :class:`SpecError` for one that names nothing."""
    base = os.path.abspath(base)
    text = text.strip()
    kind, colon, rest = text.partition(":")
    if not text or "\0" in text:
        raise SpecError("an empty model spec" if not text else f"{quote(text)} is not a model spec", _FORMS)
    if not colon or kind not in KINDS:
        kind, rest = _bare(text, base), text
    if not rest:
        raise SpecError(f"{quote(text)} names no model", _FORMS)
    return {"hf": _hf, "py": _py, "safetensors": _safetensors, "tree": _tree}[kind](text, rest, base)


def _bare(text: str, base: str) -> str:
    path = _path(text, base)
    if os.path.isdir(path):
        if os.path.isfile(os.path.join(path, "config.json")):
            return "hf"
        if _has_safetensors(path):
            return "safetensors"
        raise SpecError(f"the folder {quote(text)} holds no config.json and no .safetensors files", _FORMS)
    if re.search(r"\.py(:|$)", text):
        return "py"
    if text.endswith((".json", ".safetensors")) and os.path.isfile(path):
        return "hf" if os.path.basename(path) == "config.json" else "tree" if text.endswith(".json") else "safetensors"
    kind, colon, rest = text.partition(":")
    if colon and _DOTTED.fullmatch(kind) and ("." in kind or not near(kind, KINDS)) and _DOTTED.match(rest):
        raise SpecError(f"{quote(text)} does not say what kind of model it is", f"did you mean {quote('py:' + text)}")
    if colon and not os.path.exists(path):
        names = near(kind, KINDS)
        hint = f"did you mean {listing((n + ':' + rest for n in names), 'or')}" if names else _FORMS
        raise SpecError(f"{quote(kind + ':')} is not a kind of model spec", hint)
    if HUB_ID.fullmatch(text) and (snapshot(text) or ("/" in text and not os.path.isdir(os.path.dirname(path)))):
        return "hf"
    _must_exist(path, text, base, "file or folder")
    raise SpecError(f"{quote(text)} is not a model", _FORMS)


def _hf(text: str, rest: str, base: str) -> ModelSpec:
    path = _path(rest, base)
    if os.path.basename(path) == "config.json" and os.path.isfile(path):
        path = os.path.dirname(path)
    if os.path.isdir(path):
        if not os.path.isfile(os.path.join(path, "config.json")):
            hint = f"for names and shapes alone: safetensors:{rest}" if _has_safetensors(path) else _FORMS
            raise SpecError(f"the folder {quote(rest)} has no config.json", hint)
        return ModelSpec("hf", text, path, base)
    if HUB_ID.fullmatch(rest):
        if found := snapshot(rest):
            return ModelSpec("hf", text, found, base, name=rest)
        # An id that is not in the cache is no wrong request, unless it rather looks like a misspelt local folder.
        if "/" not in rest or not os.path.isdir(os.path.dirname(path)):
            names = _near_entries(path, base)
            if not names:
                return ModelSpec("hf", text, "", base, name=rest)
    _must_exist(path, rest, base, "folder")
    raise SpecError(f"{quote(rest)} is not a folder", "name the folder that holds the model's config.json")


def _py(text: str, rest: str, base: str) -> ModelSpec:
    rest, _, query = rest.partition("?")
    where, colon, factory = rest.rpartition(":")
    if not colon or not where or not factory:
        shown = rest.rstrip(":")
        raise SpecError(f"{quote(text)} names no factory", f"add the function or class that builds it: py:{shown}:NAME")
    if not _DOTTED.fullmatch(factory):
        raise SpecError(f"{quote(factory)} cannot be the name of a function or class", _FORMS)
    arguments = _arguments(query)
    if not where.endswith(".py") and _DOTTED.fullmatch(where):
        return ModelSpec("py", text, "", base, where, factory, arguments)
    path = _path(where, base)
    if os.path.isdir(path) and os.path.isfile(os.path.join(path, "__init__.py")):
        path = os.path.join(path, "__init__.py")
    if not os.path.isfile(path):
        _must_exist(path, where, base, "file")
        raise SpecError(f"{quote(where)} is not a Python file", _FORMS)
    return ModelSpec("py", text, path, base, factory=factory, arguments=arguments)


def _safetensors(text: str, rest: str, base: str) -> ModelSpec:
    path = _path(rest, base)
    if not os.path.exists(path) and HUB_ID.fullmatch(rest) and (found := snapshot(rest)):
        path = found
    if os.path.basename(path) == "model.safetensors.index.json" and os.path.isfile(path):
        path = os.path.dirname(path)
    _must_exist(path, rest, base, "folder")
    if os.path.isdir(path) and not _has_safetensors(path):
        raise SpecError(f"the folder {quote(rest)} holds no .safetensors files", _FORMS)
    return ModelSpec("safetensors", text, path, base)


def _tree(text: str, rest: str, base: str) -> ModelSpec:
    path = _path(rest, base)
    _must_exist(path, rest, base, "file")
    if os.path.isdir(path):
        raise SpecError(
            f"{quote(rest)} is a folder, not a module tree", "write one: hplint model build SPEC -o tree.json"
        )
    return ModelSpec("tree", text, path, base)


def _path(text: str, base: str) -> str:
    return os.path.normpath(os.path.join(base, os.path.expanduser(text)))


def _has_safetensors(folder: str) -> bool:
    try:
        return any(name.endswith((".safetensors", ".safetensors.index.json")) for name in os.listdir(folder))
    except OSError:
        return False


def _must_exist(path: str, written: str, base: str, what: str) -> None:
    if not os.path.exists(path):
        names = _near_entries(path, base)
        raise SpecError(f"no {what} {quote(written)}", f"did you mean {listing(names, 'or')}" if names else "")


def _near_entries(path: str, base: str) -> list[str]:
    """Paths near ``path``, relative to ``base`` where they lie below it: the first missing segment is replaced."""
    missing = ""
    while not os.path.isdir(path):
        path, missing = os.path.split(path)
        if not missing:
            return []
    try:
        names = near(missing, os.listdir(path))
    except OSError:
        return []
    shown = os.path.relpath(path, base) if path.startswith(base) else path
    return [os.path.join("" if shown == "." else shown, name) for name in names]


def _arguments(query: str) -> tuple[tuple[str, Any], ...]:
    found: dict[str, Any] = {}
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if not equals or not name.isidentifier():
            raise SpecError(f"{quote(part)} is not an argument", "arguments are written ?name=value&name=value")
        if name in found:
            raise SpecError(f"the argument {quote(name)} is given twice")
        found[name] = _literal(value)
    return tuple(found.items())


def _literal(value: str) -> Any:
    """A Python literal, else the text itself."""
    if "%" in value:
        from urllib.parse import unquote

        value = unquote(value)
    if value.isdecimal() and (value == "0" or value[0] != "0"):
        return int(value)
    from ast import literal_eval

    try:
        found = literal_eval(value)
        literal_eval(repr(found))  # it travels to the child as text: 1e999 would not arrive
        return found
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return {"true": True, "false": False, "null": None}.get(value, value)
