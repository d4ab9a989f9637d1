"""What came of --apply, for people; told from the machine output."""

from collections.abc import Iterator, Mapping
from typing import Any

from hplint.report.style import Style
from hplint.report.visible import printable
from hplint.text.wording import plural

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def apply_report(result: Mapping[str, Any], style: Style, verbose: bool = False) -> Iterator[str]:
    """The report of an application, a verification or a dry run."""
    if "verified" in result:
        from hplint.report.verify_report import verify_report

        yield from verify_report(result, style, verbose)
    elif "dry_run" in result:
        from hplint.report.dry_run_report import dry_run_report

        yield from dry_run_report(result, style)
    elif "applied" in result:
        yield from _applied(result, style, verbose)
    for note in result.get("notes", ()):
        yield f"{style.paint('note:', 'info')} {printable(note, style)}"


def _applied(result: Mapping[str, Any], style: Style, verbose: bool) -> Iterator[str]:
    applied = result["applied"]
    boundaries = applied["boundaries"]
    by = "" if result["applier"] == "torch" else " by HyperParallel"
    yield (
        f"{style.paint('Applied', 'good')} {printable(result['path'], style)} to {printable(result['model'], style)}"
        f"{by} on {run_words(result)}."
    )
    if "styles" in result:
        for word, count in result["styles"].items():
            yield f"  {printable(word, style)}: {plural(count, 'module')}"
    else:
        inserted = sum(1 for b in boundaries if b["place"])
        yield f"  {plural(len(boundaries), 'boundary', 'boundaries')}, {inserted:,} touched by the plan"
    if applied["parameters"]:
        counts, sizes = applied["parameters"], applied["bytes"]
        yield f"  {plural(counts['sharded'], 'parameter')} sharded, {byte_words(sizes['sharded'])} a rank"
        yield f"  {plural(counts['replicated'], 'parameter')} whole on each rank, {byte_words(sizes['replicated'])}"
    if verbose:
        for boundary in boundaries:
            place = f"  {style.paint(boundary['place'], 'dim')}" if boundary["place"] else ""
            word = f"  {printable(boundary['kind'], style)}" if "styles" in result else ""
            yield f"  {printable(boundary['module'] or '(the root module)', style)}{word}{place}"


def run_words(result: Mapping[str, Any]) -> str:
    """``dp=2,tp=4 (8 ranks, gloo, mode local)``."""
    has_modes = result["applier"] == "torch" and "styles" not in result
    mode = f", mode {result['mode']}" if has_modes else ""
    return mesh_words(result).removesuffix(")") + f", {result['backend']}{mode})"


def mesh_words(result: Mapping[str, Any]) -> str:
    """``dp=2,tp=4 (8 ranks)``."""
    mesh = ",".join(f"{axis}={size}" for axis, size in result["mesh"].items()) or "one rank"
    ep = result["topology"]["ep"] or 1
    experts = f" ep={ep}" if ep > 1 and "ep" not in result["mesh"] else ""
    return f"{mesh}{experts} ({plural(result['ranks'], 'rank')})"


def byte_words(size: float) -> str:
    """``1.5 MiB``."""
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    raise AssertionError
