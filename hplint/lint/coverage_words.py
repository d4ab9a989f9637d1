"""What the coverage of a plan of styles comes to in words, for rules of every dialect."""

from hplint.resolve.styles.coverage import StyleCoverage
from hplint.text.wording import listing, plural, quote

_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_MOST = 4


def bytes_in_words(count: int) -> str:
    """``1.5 MiB``."""
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def largest_gaps(found: StyleCoverage) -> str:
    """The largest weights that no entry cuts, with their bytes."""
    return ", ".join(f"{quote(gap.name)} ({bytes_in_words(gap.bytes)})" for gap in found.largest[:_MOST])


def odd_layers(found: StyleCoverage) -> str:
    """Which layers are cut otherwise than those beside them, and what stays whole there; "" for none."""
    if not found.odd:
        return ""
    fqn, others = found.odd[0]
    also = f" and {plural(len(found.odd) - 1, 'other layer')}" if len(found.odd) > 1 else ""
    names = listing(others, most=_MOST)
    return f"{quote(fqn)}{also} is cut otherwise than the layers beside it: {names} stay whole there"
