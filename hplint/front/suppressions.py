"""Comments -> suppressions: ``# hplint: ignore[HPL101,HPL203] -- reason``, ``ignore-file[…]``, ``# noqa: HPL101``.

A comment may hold several, each with a ``#`` of its own: ``# a slip  # noqa: E501  # hplint: ignore[HPL101]``.

Faults recorded here, both with ``section`` ("directive"), as for other ``# hplint:`` comments:

- ``unknown-key``, at a word that begins with "ignore" and is neither of the two: ``key``, ``allowed``, ``meant``
  (None).
- ``wrong-type``, from the word to the end: ``key`` and ``value``, ``type``, ``allowed``, ``problem`` ("form").
"""

import re
from collections.abc import Iterable, Iterator

from hplint.plan.entry import Text
from hplint.plan.fault import Fault
from hplint.plan.suppression import IGNORE, IGNORE_FILE, NOQA, Suppression
from hplint.text.comments import Comment
from hplint.text.span import Span
from hplint.text.wording import quote

_START = re.compile(r"(?:(?<=[ \t])|^)#")
_OWN = re.compile(r"#\s*hplint:")
_WORD = re.compile(r"\S+")
_IGNORE = re.compile(r"ignore[\w-]*")
_CODES = re.compile(r"[^\s,\[\]]+")
_REASON = re.compile(r"\s*(?:--|\Z)")
_NOQA = re.compile(r"#\s*noqa(?![\w-])(\s*:)?", re.I)
_NOQA_WORD = re.compile(r"[\s,]*([A-Za-z]+[0-9]+|[A-Z]{2,}|[a-z]+(?:-[a-z]+)+)(?![\w\[-])")
_CODE_LIKE = re.compile(r"[A-Za-z]{2,}[0-9]+|[a-z]+(?:-[a-z]+)+")
SUPPRESSIONS = (IGNORE, IGNORE_FILE)
"""The words of a ``# hplint:`` comment that suppress."""


def read_suppressions(comments: Iterable[Comment]) -> tuple[tuple[Suppression, ...], tuple[Fault, ...]]:
    """The suppressions of a file's comments, in order, and the faults of those that are misspelt, which do nothing."""
    found: list[Suppression] = []
    faults: list[Fault] = []
    for comment in comments:
        for text, at in _parts(comment):
            read = _own(text, at, comment.span) if _OWN.match(text) else _noqa(text, at, comment.span)
            if isinstance(read, Suppression):
                found.append(read)
            elif read is not None:
                faults.append(read)
    return tuple(found), tuple(faults)


def _parts(comment: Comment) -> Iterator[tuple[str, int]]:
    """A comment cut at each ``#`` that may begin another one, white space at the ends left out; with the offsets."""
    starts = [m.start() for m in _START.finditer(comment.text)]
    for start, end in zip(starts, [*starts[1:], len(comment.text)], strict=True):
        yield comment.text[start:end].rstrip(), comment.span.start + start


def _own(text: str, at: int, comment: Span) -> Suppression | Fault | None:
    head = _OWN.match(text)
    assert head
    for word in _WORD.finditer(text, head.end()):
        if named := _IGNORE.match(text, word.start()):
            first = word.start() if text[head.end() : word.start()].strip() else 0
            return _ignore(text, first, named, at, comment)
        if "=" not in word[0]:
            return None  # No suppression: the reader of directives tells.
    return None


def _ignore(text: str, first: int, named: re.Match[str], at: int, comment: Span) -> Suppression | Fault:
    form, after = named[0], named.end()
    place = Span(at + named.start(), at + named.end())
    if form not in SUPPRESSIONS:
        return Fault(
            "unknown-key", place, data={"key": form, "section": "directive", "allowed": SUPPRESSIONS, "meant": None}
        )
    words: tuple[Text, ...] | None = None
    if text.startswith("[", after):
        closed = text.find("]", after)
        inner = text[after + 1 : closed if closed > 0 else len(text)]
        words = tuple(
            Text(m[0], Span(at + after + 1 + m.start(), at + after + 1 + m.end())) for m in _CODES.finditer(inner)
        )
        if closed < 0:
            return _malformed(form, text, named, at, "not closed", f"`{form}[{inner.strip()}]`")
        if not words:
            return _malformed(form, text, named, at, "empty", f"codes or names of rules, such as `{form}[HPL101]`")
        after = closed + 1
    elif not _REASON.match(text, after):
        rest = text[after:].strip(" \t:=()")
        meant = f"[{','.join(rest.replace(',', ' ').split())}]" if _are_codes(rest) else f" -- {rest}"
        problem = f"followed by {quote(text[after:].strip())}"
        return _malformed(form, text, named, at, problem, f"`{form}{meant}`")
    return Suppression(form, words, Span(at + first, at + after), at + len(text), comment)


def _are_codes(text: str) -> bool:
    return all(_CODE_LIKE.fullmatch(word) for word in text.replace(",", " ").split())


def _malformed(form: str, text: str, named: re.Match[str], at: int, kind: str, allowed: str) -> Fault:
    data = {"key": form, "value": text[named.end() :], "type": kind, "allowed": allowed, "problem": "form"}
    return Fault("wrong-type", Span(at + named.start(), at + len(text)), data={**data, "section": "directive"})


def _noqa(text: str, at: int, comment: Span) -> Suppression | None:
    head = _NOQA.match(text)
    if head is None:
        return None
    if not head[1]:
        return Suppression(NOQA, None, Span(at, at + head.end()), at + len(text), comment)
    words: list[Text] = []
    end = head.end()
    while word := _NOQA_WORD.match(text, end):
        end = word.end()
        words.append(Text(word[1], Span(at + word.start(1), at + end)))
    return Suppression(NOQA, tuple(words), Span(at, at + end), at + len(text), comment)
