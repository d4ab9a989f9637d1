"""Where things are defined: a module's class, an injected function. Found in source, never imported."""

from pathlib import Path

from lsprotocol import types

from hplint.ide.lsp.desk import Sheet
from hplint.ide.lsp.place import Place, place_at
from hplint.ide.lsp.style_place import classes_of, style_place
from hplint.lint.request import CheckedPlan
from hplint.targets.find import Found
from hplint.targets.shipped import SUFFIX, WRAPPERS


def definitions(sheet: Sheet, offset: int) -> list[types.Location]:
    """The sources of what stands at an offset, none where it cannot be found here."""
    for checked in sheet.checked:
        if there := style_place(checked.plan, offset):
            places = dict.fromkeys(found for name in classes_of(there, checked) for found in _located(name, checked))
            return [_location(file, line) for file, line in places]
        place = place_at(checked, offset)
        if place is not None:
            places = dict.fromkeys(found for name in _names(place, checked) for found in _located(name, checked))
            return [_location(file, line) for file, line in places]
    return []


def _location(file: Path, line: int) -> types.Location:
    start = types.Position(line - 1, 0)
    return types.Location(file.absolute().as_uri(), types.Range(start, start))


def _names(place: Place, checked: CheckedPlan) -> list[str]:
    """Dotted names of what a token stands for."""
    match place.kind:
        case "target" | "keyword":
            return [place.text if place.kind == "target" else place.tensor]
        case "wrapper":
            return [f"{WRAPPERS}.{place.text}{SUFFIX}"]
        case "match":
            return _classes(place, checked)
    return []


def _classes(place: Place, checked: CheckedPlan) -> list[str]:
    resolved, tree = checked.resolved, checked.tree
    hits = resolved.hits.get(place.entry.index) if resolved else None
    if tree is None or hits is None:
        return []
    modules = (tree.modules.get(fqn) for fqn in (*hits.merged, *hits.inserted))
    return list(dict.fromkeys(m.cls.name for m in modules if m and m.cls))


def _located(dotted: str, checked: CheckedPlan) -> list[tuple[Path, int]]:
    found = checked.targets.find(dotted) if checked.targets else None
    if not isinstance(found, Found):
        return []
    places = []
    for definition in found.definitions:
        file = definition.home.module.file if definition.home else None
        if file is not None and definition.node is not None:
            places.append((file, definition.line))
    return places
