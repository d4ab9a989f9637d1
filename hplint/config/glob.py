"""Globs over file paths, as configuration files write them."""

import re
from functools import lru_cache


def matches(glob: str, path: str) -> bool:
    """Whether a glob matches a path; both use ``/`` and count from the same folder.

    ``*`` and ``?`` stay within one folder, ``**`` crosses folders, ``[ab]`` is a set. A glob without ``/`` matches the
    file name in any folder. A glob that matches a folder matches everything below it.
    """
    return _compiled(glob).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    glob = glob.removeprefix("./").rstrip("/")
    prefix = "" if "/" in glob else "(?:.*/)?"
    return re.compile(f"(?s:{prefix}{_translate(glob)}(?:/.*)?)")


def _translate(glob: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(glob):
        if glob.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            out.append(".*")
            at += 2
        elif glob[at] == "*":
            out.append("[^/]*")
            at += 1
        elif glob[at] == "?":
            out.append("[^/]")
            at += 1
        elif glob[at] == "[" and (end := glob.find("]", at + 2)) > 0:
            body = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"(?!/)[^{body[1:]}]" if body[0] == "!" else f"[{body}]".replace("[^", "[\\^"))
            at = end + 1
        else:
            out.append(re.escape(glob[at]))
            at += 1
    return "".join(out)
