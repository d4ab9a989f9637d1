"""What the source of a model's classes may name: attributes that other configs of the same family have.

Files are found by the dotted paths of the tree's classes and read as text; nothing is imported.
"""

import os
import re
from functools import lru_cache

from hplint.model.tree import ModuleTree
from hplint.model.versions import package_folder

_WORD = re.compile(r"[A-Za-z_]\w*")
_ALWAYS = frozenset(("weight", "bias", "*"))
"""Names of parameters that torch's own modules have, and the place of numbers."""


def family_words(tree: ModuleTree) -> frozenset[str] | None:
    """Every word in the files of the tree's classes, torch's own left out. None where one of them is not found."""
    files = {_file(cls.name.rpartition(".")[0]) for cls in tree.classes if not cls.name.startswith("torch.")}
    if not files or None in files:
        return None
    return _ALWAYS.union(*(_words(f) for f in files if f))


def _file(module: str) -> str | None:
    """The file of a module of an installed package."""
    package, *rest = module.split(".")
    folder = package_folder(package)
    path = os.path.join(folder, *rest) + ".py"
    return path if folder and rest and os.path.isfile(path) else None


@lru_cache(maxsize=64)
def _words(path: str) -> frozenset[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return frozenset(_WORD.findall(file.read()))
    except OSError:
        return frozenset()
