"""Words for messages: quoted values, lists with an end, plurals."""

from collections.abc import Iterable


def quote(value: object) -> str:
    """A value as messages show it: strings in backquotes, other values as Python spells them, in backquotes too.

    Long values are cut in the middle; line ends are shown escaped.
    """
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return f"`{text if len(text) <= 80 else text[:38] + '…' + text[-38:]}`"


def listing(names: Iterable[object], word: str = "and", most: int = 8) -> str:
    """``a``, ``b`` and ``c``; past ``most`` names the rest is counted."""
    items = [quote(n) for n in names]
    if len(items) > most:
        return ", ".join(items[:most]) + f" and {len(items) - most} more"
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + f" {word} {items[-1]}"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """``1 module``, ``3 modules``."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"
