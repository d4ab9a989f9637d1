"""What fixing would change, as a unified diff that ``patch -p0`` takes."""

import re
from collections.abc import Iterator

_NO_NEWLINE = "\\ No newline at end of file\n"
_SPECIAL = re.compile(r'[\x00-\x1f\x7f"\\]')


def unified(path: str, before: str, after: str) -> Iterator[str]:
    """The lines of the diff, each with its line end; nothing where both texts are the same.

    Lines end at LF alone, as for ``patch``: a CR is a character of its line.
    """
    from difflib import unified_diff

    name = _name(path)
    for line in unified_diff(_lines(before), _lines(after), name, name):
        if line.endswith("\n"):
            yield line
        else:
            yield line + "\n"
            yield _NO_NEWLINE


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _name(path: str) -> str:
    """A path as the head of a diff spells it: quoted where it holds control characters, ended by a tab where it holds
    spaces, so that it is not cut there."""
    if _SPECIAL.search(path):
        escaped = _SPECIAL.sub(lambda m: _escape(m[0]), path)
        return f'"{escaped}"'
    return f"{path}\t" if " " in path else path


def _escape(character: str) -> str:
    return f"\\{character}" if character in '"\\' else f"\\{ord(character):03o}"
