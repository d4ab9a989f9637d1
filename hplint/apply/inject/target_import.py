"""Import the function that a plan names. Only applying does this, in the rank processes; linting reads source."""

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hplint.text.near import near
from hplint.text.wording import quote


class TargetError(Exception):
    """Why a target cannot be had: ``message`` goes on after the target's name."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def import_target(target: str, src: Sequence[str] = ()) -> Callable[..., Any]:
    """The callable at a dotted path, or at ``path/file.py:name``. ``src`` are folders that are looked in first.

    Raises TargetError (R17-R24), with the original exception as its cause where importing failed.
    """
    path, colon, name = target.rpartition(":")
    if colon and path.endswith(".py"):
        found = _attributes(_file_module(path, src), name.split("."), path)
    else:
        found = _dotted(target, src)
    if not callable(found):
        raise TargetError(f"is of type `{type(found).__name__}`, which cannot be called")
    return found  # type: ignore[no-any-return]


def _dotted(target: str, src: Sequence[str]) -> Any:
    parts = target.split(".")
    if not all(parts) or len(parts) < 2:
        raise TargetError("is no dotted path to a function", "write package.module.function")
    for folder in reversed(src):
        absolute = str(Path(folder).resolve())
        if absolute not in sys.path:
            sys.path.insert(0, absolute)
    module, used = _longest(parts)
    return _attributes(module, parts[used:], ".".join(parts[:used]))


def _longest(parts: list[str]) -> tuple[ModuleType, int]:
    """The module of the longest prefix that there is, and its length."""
    module: ModuleType | None = None
    for count in range(1, len(parts)):
        name = ".".join(parts[:count])
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise TargetError(f"needs the module {quote(error.name)}, which is not installed here") from error
            if module is None:
                raise TargetError(
                    f"cannot be imported: there is no package {quote(name)} here", "give its folder with --src"
                ) from error
            return module, count - 1
        except Exception as error:
            raise TargetError(f"cannot be imported: {type(error).__name__}: {error}") from error
    assert module is not None
    return module, len(parts) - 1


def _attributes(module: ModuleType, names: Sequence[str], shown: str) -> Any:
    found: Any = module
    for name in names:
        try:
            found = getattr(found, name)
        except AttributeError as error:
            close = near(name, [n for n in dir(found) if not n.startswith("_")])
            hint = f"{quote(close[0])} is near" if close else ""
            raise TargetError(f"cannot be imported: {quote(shown)} has no {quote(name)}", hint) from error
        shown = f"{shown}.{name}"
    return found


def _file_module(path: str, src: Sequence[str]) -> ModuleType:
    """A file as a module, once a process."""
    from importlib.util import module_from_spec, spec_from_file_location

    places = [Path(path), *(Path(folder) / path for folder in src)]
    file = next((p.resolve() for p in places if p.is_file()), None)
    if file is None:
        raise TargetError(f"cannot be imported: there is no file {quote(path)}", "give its folder with --src")
    known = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(file)), None)
    if known is not None:
        return known
    spec = spec_from_file_location(f"_hplint_target_{file.stem}_{abs(hash(str(file)))}", file)
    if spec is None or spec.loader is None:
        raise TargetError(f"cannot be imported: {quote(path)} is no Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        raise TargetError(f"cannot be imported: {type(error).__name__}: {error}") from error
    return module
