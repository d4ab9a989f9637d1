"""What --verify found, for people; told from the machine output."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hplint.report.apply_report import run_words
from hplint.report.style import Style
from hplint.report.visible import printable
from hplint.text.wording import plural

MOST = 10
"""Gradients that are listed without --verbose."""


def verify_report(result: Mapping[str, Any], style: Style, verbose: bool = False) -> Iterator[str]:
    """The verdict first, then how far outputs and gradients are apart, then what to look at."""
    verified = result["verified"]
    path, model = printable(result["path"], style), printable(result["model"], style)
    on = f"{model} on {run_words(result)}"
    if verified["agrees"]:
        yield f"{style.paint('Verified', 'good')} {path}: the sharded {on} computes what the unsharded one does."
    elif verified["fault"]:
        yield f"{style.paint('error:', 'error')} {path}: the sharded {on} does not run through."
        yield from _fault(verified["fault"], result["ranks"], style)
    else:
        yield f"{style.paint('error:', 'error')} {path}: the sharded {on} differs from the unsharded one."
    yield from _first(verified, style, "module" if "styles" in result else "boundary")
    for kind in ("outputs", "gradients"):
        yield from _comparisons(kind[:-1], verified[kind], style, verbose)
    for note in verified["notes"]:
        yield f"{style.paint('note:', 'info')} {printable(note, style)}"


def _first(verified: Mapping[str, Any], style: Style, what: str) -> Iterator[str]:
    first = verified["first_difference"]
    if first is None:
        return
    fault = verified["fault"]
    words = ("stopped behind" if fault["behind"] else "stopped in") if fault else f"first {what} that differs:"
    place = f"  {style.paint(verified['place'], 'dim')}" if verified["place"] else ""
    yield f"  {words} {style.paint(printable(first or '(the root module)', style), 'strong')}{place}"


def _fault(fault: Mapping[str, Any], ranks: int, style: Style) -> Iterator[str]:
    told = fault["ranks"]
    alone = (
        f"on {plural(len(told), 'rank')} of {ranks} ({', '.join(map(str, told[:8]))}): " if len(told) < ranks else ""
    )
    yield f"  {alone}{printable(fault['message'], style)}"
    for axis, declared in fault["declared"].items():
        yield f"  axis {axis}: declared {declared}, actual {fault['actual'].get(axis, 'replicate')}"
    if fault["hint"]:
        yield f"{style.paint('help:', 'help')} {printable(fault['hint'], style)}"


def _comparisons(kind: str, found: Sequence[Mapping[str, Any]], style: Style, verbose: bool) -> Iterator[str]:
    if not found:
        return
    wrong = [c for c in found if not c["agrees"]]
    if not wrong:
        worst = max(found, key=_share)
        yield f"  {plural(len(found), kind)} equal, {_numbers(worst)} at most ({printable(worst['name'], style)})"
    else:
        yield f"  {len(wrong):,} of {plural(len(found), kind)} differ{'s' if len(wrong) == 1 else ''}:"
    shown = found if verbose else wrong[:MOST]
    for one in shown:
        mark = "" if one["agrees"] else style.paint(" differs", "error")
        yield f"    {printable(one['name'], style)}: {one['reason'] or _numbers(one)}{mark if verbose else ''}"
    if len(wrong) > MOST and not verbose:
        yield f"    and {len(wrong) - MOST:,} more (-v lists all)"


def _share(one: Mapping[str, Any]) -> float:
    return float((one["error"] or 0.0) / (one["magnitude"] or 1.0))


def _numbers(one: Mapping[str, Any]) -> str:
    if one["error"] is None:
        return "error without bound"
    return f"error {one['error']:.1e}, magnitude {one['magnitude']:.1e}"
