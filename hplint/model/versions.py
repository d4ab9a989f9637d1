"""Versions of installed packages, read from their files: importing them costs seconds, importlib.metadata some ms."""

import os
import re
import sys

_VERSION = re.compile(rb"""^__version__\s*(?::\s*\w+\s*)?=\s*['"]([^'"]+)""", re.MULTILINE)


def installed_version(package: str) -> str:
    """Version of the package that ``import`` would find along ``sys.path``; "" when it is not there."""
    for entry in sys.path:
        folder = os.path.join(entry, package)
        for name in ("version.py", "__init__.py"):
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    found = _VERSION.search(file.read(8192))
            except OSError:
                continue
            if found:
                return found[1].decode("utf-8", "replace")
    return ""


def package_folder(package: str) -> str:
    """The folder of the package that ``import`` would find along ``sys.path``; "" when it is not there."""
    for entry in sys.path:
        folder = os.path.join(entry, package)
        if os.path.isfile(os.path.join(folder, "__init__.py")):
            return folder
    return ""
