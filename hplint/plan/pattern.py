"""Glob patterns over module names, exactly as ``fnmatch.fnmatchcase`` reads them: ``*`` crosses dots, ``?`` is one
character (a dot too), ``[...]`` and ``[!...]`` are character classes, an unclosed ``[`` is itself."""

import re
from functools import lru_cache

_SPECIAL = re.compile(r"[*?\[]")
STAR = "*"
ANY = "?"


def is_glob(match: str) -> bool:
    """Whether a match is a glob; anything else names one module (2.3)."""
    return _SPECIAL.search(match) is not None


class Pattern:
    """A compiled glob: an automaton whose state sets are whole numbers, bit i meaning "the first i tokens are read".

    ``start`` is the set before any character, ``read`` the set after more characters. A state set of 0 is dead: no
    continuation matches. All memory is inside the object, so equal work on many names is done once.
    """

    __slots__ = (
        "_characters", "_classes", "_literals", "_segments", "_stars", "_steps", "_tokens", "accept", "last", "start",
        "text",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens = _tokens(text)
        self._segments: dict[int, tuple[int, frozenset[str]] | None] = {}
        self._literals: dict[str, int] = {}
        self._classes: list[tuple[str, int]] = []
        self._stars = 0
        every = 0
        for i, token in enumerate(tokens):
            if token == STAR:
                self._stars |= 1 << i
            elif token == ANY:
                every |= 1 << i
            elif len(token) > 1:
                self._classes.append((token, 1 << i))
            else:
                # "[?]" and "[*]" are classes of one; a token of one character that is neither is itself.
                self._literals[token] = self._literals.get(token, 0) | 1 << i
        self._characters: dict[str, int] = {}
        self._steps: dict[tuple[int, str], int] = {}
        self.accept = 1 << len(tokens)
        self.start = self._skip_stars(1)
        self._literals = {c: bits | every for c, bits in self._literals.items()} | {"": every}
        tail = text.rpartition(".")[2]
        self.last: str | None = tail if "." in text and not is_glob(tail) and "]" not in tail else None
        """The last segment that every matching name must have, where the pattern spells it out."""

    def _skip_stars(self, states: int) -> int:
        # Neighbouring stars are one token, so one step is the whole closure.
        return states | (states & self._stars) << 1

    def _reads(self, character: str) -> int:
        """The tokens that take this character, as bits."""
        bits = self._characters.get(character)
        if bits is None:
            bits = self._literals.get(character, self._literals[""])
            for token, bit in self._classes:
                if _class(token).match(character):
                    bits |= bit
            self._characters[character] = bits
        return bits

    def read(self, states: int, text: str) -> int:
        """The state set after reading ``text`` from ``states``."""
        key = (states, text)
        found = self._steps.get(key)
        if found is None:
            found, stars = states, self._stars
            for character in text:
                found = ((found & self._reads(character)) << 1) | (found & stars)
                found |= (found & stars) << 1
            self._steps[key] = found
        return found

    def segment(self, states: int) -> tuple[int, frozenset[str]] | None:
        """What one whole segment can do from ``states`` at its start, where that hangs on few names.

        The state set that any segment leaves but those of the second part, which must be read by themselves. None where
        the pattern has wildcards inside the segment, so that every name must be read.
        """
        if states not in self._segments:
            self._segments[states] = self._segment(states)
        return self._segments[states]

    def _segment(self, states: int) -> tuple[int, frozenset[str]] | None:
        tokens, count = self._tokens, len(self._tokens)
        expected = set()
        for i in range(count):
            if not states >> i & 1:
                continue
            if tokens[i] == STAR:
                if i + 1 < count and tokens[i + 1] != ".":
                    return None
                continue
            end = i
            while end < count and tokens[end] != ".":
                if len(tokens[end]) > 1 or tokens[end] in (STAR, ANY):
                    return None
                end += 1
            if end > i:
                expected.add("".join(tokens[i:end]))
        return self._skip_stars(states & self._stars), frozenset(expected)

    def accepts(self, states: int) -> bool:
        """Whether a name may end here."""
        return bool(states & self.accept)

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        states = self.start
        for character in name:
            states = ((states & self._reads(character)) << 1) | (states & self._stars)
            states |= (states & self._stars) << 1
            if not states:
                return False
        return bool(states & self.accept)


def _tokens(text: str) -> list[str]:
    """Stars (neighbours joined), question marks, classes with their brackets, single characters."""
    tokens: list[str] = []
    i, n = 0, len(text)
    while i < n:
        c = text[i]
        i += 1
        if c == "*":
            if not tokens or tokens[-1] != STAR:
                tokens.append(STAR)
            continue
        if c == "[":
            j = i
            if text[j : j + 1] == "!":
                j += 1
            if text[j : j + 1] == "]":
                j += 1
            j = text.find("]", j)
            if j >= 0:
                tokens.append(text[i - 1 : j + 1])
                i = j + 1
                continue
        tokens.append(c)
    return tokens


@lru_cache(maxsize=256)
def _class(token: str) -> "re.Pattern[str]":
    # The rules for ranges, hyphens and escapes inside brackets are fnmatch's own: let it translate them.
    from fnmatch import translate

    return re.compile(translate(token))
