"""Packages of rules: hplint's own, and those that distributions name in the entry point group ``hplint.rules``."""

import importlib
import os
import sys
from typing import Any, NamedTuple

from hplint.errors import RequestError
from hplint.text.wording import quote

GROUP = "hplint.rules"
BUILT_IN = "hplint_rules"
_INSTALLED = ("site-packages", "dist-packages")
_METADATA = (".dist-info", ".egg-info")


class RulePackage(NamedTuple):
    """A package that holds rules: its dotted name, the distribution that named it ("" for hplint itself), its
    folders."""

    name: str
    owner: str
    roots: tuple[str, ...]


def search_state() -> list[list[Any]]:
    """What the answer of :func:`find_packages` hangs on, in a form that JSON keeps: where distributions may be
    installed, and when something there last changed. A few looks at the disk, and no import."""
    standard = os.path.dirname(os.__file__)  # noqa: PTH120 - the warm path
    state: list[list[Any]] = []
    for path in dict.fromkeys(sys.path):
        if path.startswith(standard) and not path.endswith(_INSTALLED):
            continue  # The standard library holds no distributions.
        try:
            # Installing and removing change an installation folder itself; other folders change for many reasons.
            mark: Any = os.stat(path or ".").st_mtime_ns if path.endswith(_INSTALLED) else _metadata(path or ".")  # noqa: PTH116
        except OSError:
            continue
        if mark:
            state.append([path, mark])
    return state


def _metadata(folder: str) -> list[list[Any]]:
    with os.scandir(folder) as items:
        return sorted([i.name, i.stat().st_mtime_ns] for i in items if i.name.endswith(_METADATA))


def built_in() -> RulePackage:
    """The rules that come with hplint."""
    return located(BUILT_IN)


def find_packages() -> tuple[RulePackage, ...]:
    """hplint's own rules, then those of other distributions by name. Raises RequestError for a package that an entry
    point names and that cannot be found."""
    from importlib.metadata import distributions

    named: dict[str, str] = {}
    seen: set[str] = set()
    for distribution in distributions():
        owner = distribution.metadata["Name"] or ""
        if owner in seen:
            continue  # The first one on the path is the one that is imported.
        seen.add(owner)
        for point in distribution.entry_points:
            if point.group == GROUP:
                named.setdefault(point.value.partition(":")[0].strip(), owner)
    return (built_in(), *(located(name, owner) for name, owner in sorted(named.items())))


def located(name: str, owner: str = "") -> RulePackage:
    """A package by its dotted name. Raises RequestError where it cannot be found."""
    if name == BUILT_IN:
        return RulePackage(name, owner, tuple(importlib.import_module(name).__path__))
    from importlib.util import find_spec

    reason = "there is no such package"
    try:
        spec = find_spec(name)
    except Exception as error:  # Looking up a.b imports a, which may do anything.
        spec, reason = None, f"{type(error).__name__}: {error}"
    if spec is None or not spec.submodule_search_locations:
        reason = reason if spec is None else "it is a module, not a package of rules"
        raise RequestError(f"the rules {_of(name, owner)} cannot be loaded: {reason}", _repair(owner))
    return RulePackage(name, owner, tuple(spec.submodule_search_locations))


def broken(module: str, package: RulePackage, reason: str) -> RequestError:
    """The complaint about a module of rules that cannot be used."""
    return RequestError(f"the rule {quote(module)} cannot be loaded: {reason}", _repair(package.owner))


def _of(name: str, owner: str) -> str:
    return f"{quote(name)} of the distribution {quote(owner)}" if owner else quote(name)


def _repair(owner: str) -> str:
    return f"repair {quote(owner)} or uninstall it" if owner else ""
