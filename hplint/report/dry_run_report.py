"""What came of --dry-run, for people; told from the machine output."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hplint.report.apply_report import byte_words, mesh_words
from hplint.report.folding import fold
from hplint.report.style import Style
from hplint.report.visible import printable, width
from hplint.text.wording import plural, quote

Table = Sequence[tuple[str, ...]]
_INSTEAD = {
    "own forward": "the own forward ran in its place, and what the function itself sends is not counted",
    "own exchange of tokens": "counted as hplint's own exchange of tokens instead",
    "shape of the input": "its result is taken to be shaped like its input, and what it sends inside is not counted",
    "nothing": "nothing is counted but parameters",
}


def dry_run_report(result: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Parameters first, then what each boundary sends, the sums, and what is not counted."""
    found = result["dry_run"]
    path, model = printable(result["path"], style), printable(result["model"], style)
    yield f"{style.paint('Dry run', 'good')} of {path}: {model} on {mesh_words(result)}."
    yield _step(found)
    yield ""
    yield from _parameters(found["parameters"], style)
    yield ""
    what = "module" if "styles" in result else "boundary"
    yield from _boundaries(found["boundaries"], what, style)
    for title, rows in (
        ("All modules" if "styles" in result else "All boundaries", found["totals"]),
        ("Gradients, summed once after backward", found["gradients"]),
    ):
        if rows:
            yield style.paint(title, "strong")
            yield from _aligned([_total(row) for row in rows], right=(3, 4))
            yield ""
    yield from _remarks(found, result["ranks"], style)


def _step(found: Mapping[str, Any]) -> str:
    given = {"--batch": found["batch_is_given"], "--seq-len": found["seq_len_is_given"]}
    taken = " and ".join(option for option, is_given in given.items() if not is_given)
    note = f" ({taken} left at the default)" if taken else ""
    outputs = "".join(f", outputs {dtype}" for dtype in found["output_dtypes"] if dtype != found["dtype"])
    sequences = plural(found["batch"], "sequence")
    return (
        f"One step of {sequences} of {found['seq_len']:,} tokens on each data-parallel rank{note}, "
        f"parameters and activations {found['dtype']}{outputs}."
    )


def _parameters(found: Mapping[str, Any], style: Style) -> Iterator[str]:
    sizes, counts = found["bytes"], found["tensors"]
    total, whole = byte_words(sizes["total"]), byte_words(sizes["unsharded"])
    yield f"{style.paint('Parameters of a rank', 'strong')}: {total} of {whole}"
    rows = [(kind, byte_words(sizes[kind]), plural(counts[kind], "tensor")) for kind in ("sharded", "replicated")]
    yield from _aligned(rows, right=(1,))
    for title, key in (
        ("largest, each", "largest"),
        ("largest that every rank holds whole, each", "largest_replicated"),
    ):
        if found[key]:
            yield f"  {title}:"
            yield from _aligned([_tensor(row, style) for row in found[key]], right=(0,), indent=4)


def _tensor(row: Mapping[str, Any], style: Style) -> tuple[str, ...]:
    cuts = ", ".join(f"{axis} cuts dim {dim}" for axis, dim in row["cuts"].items())
    whole = f"{cuts} of {byte_words(row['whole'])}" if cuts else ""
    shape = "x".join(str(n) for n in row["shape"])
    return byte_words(row["bytes"]), _names(row["tensors"], style), f"{shape} {row['dtype']}", whole


def _boundaries(boundaries: Iterable[Mapping[str, Any]], what: str, style: Style) -> Iterator[str]:
    told = [(b["module"], tuple(_row(row) for row in b["communication"])) for b in boundaries]
    if told:
        yield style.paint(f"Each {what} sends, in one step of one rank:", "strong")
    for name, rows, count in fold(told):
        yield f"{printable(name or '(the root module)', style)}{_times(count)}"
        yield from _aligned([tuple(printable(cell, style) for cell in row) for row in rows], right=(4, 5))
    if told:
        yield ""


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    estimated = "estimated" if row["estimated"] else ""
    size = byte_words(row["bytes"])
    return row["name"], row["direction"], row["collective"], row["axis"], _calls(row["count"]), size, estimated


def _total(row: Mapping[str, Any]) -> tuple[str, ...]:
    return row["axis"], row["direction"], row["collective"], _calls(row["count"]), byte_words(row["bytes"])


def _calls(count: int) -> str:
    return plural(count, "call")


def _remarks(found: Mapping[str, Any], ranks: int, style: Style) -> Iterator[str]:
    estimated = any(row["estimated"] for b in found["boundaries"] for row in b["communication"])
    if estimated:
        yield (
            f"{style.paint('estimated:', 'info')} as if the router chose every expert equally often, which gives "
            "tokens x choices / ep copies from each rank to each; ranks differ where it does not."
        )
    elif ranks > 1:
        yield "Every rank holds and sends as much."
    yield (
        "Bytes are those of the gathered result (all-gather), of the whole input (reduce-scatter), else of the tensor; "
        "the loss is not counted. Sums over dp are those of plain data parallelism."
    )
    for row in found["not_counted"]:
        yield f"{style.paint('not counted:', 'warning')} {_omission(row, style)}"


def _omission(row: Mapping[str, Any], style: Style) -> str:
    subject = quote(row["function"]) if row["function"] else "the forward"
    where = f" at {_names(row['modules'], style)}" if row["modules"] else ""
    reason = printable(row["reason"], style)
    told = reason if row["function"] and not _is_error(reason) else f"cannot run without values ({reason})"
    return f"{printable(subject, style)}{where} {told}; {_INSTEAD[row['instead']]}"


def _is_error(reason: str) -> bool:
    head, colon, _ = reason.partition(":")
    return bool(colon) and head.isidentifier() and head[0].isupper()


def _names(names: Sequence[str], style: Style) -> str:
    return ", ".join(printable(name, style) + _times(count) for name, _, count in fold((n, 0) for n in names))


def _times(count: int) -> str:
    return f"  x{count:,}" if count > 1 else ""


def _aligned(rows: Table, right: tuple[int, ...] = (), indent: int = 2) -> Iterator[str]:
    if not rows:
        return
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            " " * (w - width(cell)) + cell if i in right else cell + " " * (w - width(cell))
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        yield (" " * indent + "  ".join(cells)).rstrip()
