"""``# hplint: key=value …`` comments: what a file says of its own check.

Faults recorded here:

- ``unknown-key``, at the key: ``key``, ``section`` ("directive"), ``allowed``, ``meant`` (None).
- ``wrong-type``, at the value (at the word, where it has no ``=``): ``value``, ``type``, ``allowed``; ``key``,
  ``section`` ("directive"). ``problem`` is ``spaces``, from the key to the value, where white space stands around the
  ``=``.
"""

import re
from collections.abc import Iterable

from hplint.plan.fault import Fault
from hplint.plan.plan import Directive, Document
from hplint.plan.suppression import IGNORE, IGNORE_FILE
from hplint.text.comments import Comment
from hplint.text.span import Span

_DIRECTIVE = re.compile(r"#\s*hplint:")
_WORD = re.compile(r"\S+")
_SPACED = re.compile(r"(\w+)([ \t]*)=([ \t]*)([^\s=]\S*)")
_NUMBER = re.compile(r"0*[1-9][0-9]{0,17}")
_MESH = re.compile(rf"[A-Za-z_]\w*={_NUMBER.pattern}(?:,[A-Za-z_]\w*={_NUMBER.pattern})*")
_FLAG = re.compile("true|false")
_ANYTHING = re.compile(r".+", re.S)

DIRECTIVE_KEYS: dict[str, tuple[re.Pattern[str], str]] = {
    "model": (_ANYTHING, "a model, such as `hf:DIR`"),
    "src": (_ANYTHING, "a folder"),
    "mesh": (_MESH, "axis sizes, such as `dp=2,tp=4`"),
    "ep": (_NUMBER, "a whole number of at least 1"),
    "sequence_parallel": (_FLAG, "`true` or `false`"),
    "loss_parallel": (_FLAG, "`true` or `false`"),
    "seq_len": (_NUMBER, "a whole number of at least 1"),
    "derive": (_FLAG, "`true` or `false`"),
}
"""Key -> what its value looks like, and the end of the sentence "it must be …"."""


def read_comments(document: Document, comments: Iterable[Comment]) -> None:
    """What the comments of a file say of its check: directives, suppressions, and the faults of both."""
    from hplint.front.suppressions import read_suppressions

    found = tuple(comments)
    document.directives, faults = read_directives(found)
    document.suppressions, misspelt = read_suppressions(found)
    document.faults = (*document.faults, *faults, *misspelt)


def read_directives(comments: Iterable[Comment]) -> tuple[tuple[Directive, ...], tuple[Fault, ...]]:
    """The directives of a file's comments, in order, and their faults; a directive at fault is left out.

    Suppressions (``ignore[…]``, ``ignore-file[…]``, read elsewhere) end a comment: what follows them is their reason.
    So does a ``#``, which begins another comment.
    """
    found: list[Directive] = []
    faults: list[Fault] = []
    for comment in comments:
        head = _DIRECTIVE.match(comment.text)
        if not head:
            continue
        end = head.end()
        for word in _WORD.finditer(comment.text, end):
            if word[0].startswith((IGNORE, "#")):
                break
            if word.start() < end:
                continue  # It belongs to the spaced directive before it.
            start = comment.span.start + word.start()
            if spaced := _spaced(comment.text, word.start()):
                faults.append(_with_spaces(spaced, comment.span.start))
                end = spaced.end()
                continue
            read = _read(word[0], start)
            if isinstance(read, Directive):
                found.append(read)
            else:
                faults.append(read)
                if "=" not in word[0]:
                    break
    return tuple(found), tuple(faults)


def _spaced(text: str, start: int) -> re.Match[str] | None:
    """``key = value`` at ``start``, white space on either side of the ``=``."""
    found = _SPACED.match(text, start)
    if not found or found[1] not in DIRECTIVE_KEYS or not (found[2] or found[3]):
        return None
    return None if found[4].partition("=")[0] in DIRECTIVE_KEYS else found


def _with_spaces(found: re.Match[str], shift: int) -> Fault:
    data = {"value": found[4], "type": "written with spaces", "allowed": f"`{found[1]}={found[4]}`", "key": found[1]}
    place = Span(shift + found.start(), shift + found.end())
    return Fault("wrong-type", place, data={**data, "section": "directive", "problem": "spaces"})


def _read(word: str, start: int) -> Directive | Fault:
    key, equals, value = word.partition("=")
    if not equals:
        key = key.partition("[")[0] or key  # A suppression, misspelt.
    place = Span(start, start + len(key))
    if key not in DIRECTIVE_KEYS:
        allowed: tuple[str, ...] = (*DIRECTIVE_KEYS, IGNORE, IGNORE_FILE)
        data: dict[str, object] = {"key": key, "section": "directive", "allowed": allowed, "meant": None}
        return Fault("unknown-key", place, data=data)
    pattern, wanted = DIRECTIVE_KEYS[key]
    span = Span(place.end + len(equals), start + len(word))
    if pattern.fullmatch(value) and (key != "mesh" or _distinct(value)):
        return Directive(key, value, span)
    kind = "nothing" if not value else "a string"
    data = {"value": value, "type": kind, "allowed": wanted, "key": key, "section": "directive"}
    return Fault("wrong-type", span if value else place, data=data)


def _distinct(mesh: str) -> bool:
    """Whether no axis of a mesh is given twice."""
    axes = [part.partition("=")[0] for part in mesh.split(",")]
    return len(set(axes)) == len(axes)
