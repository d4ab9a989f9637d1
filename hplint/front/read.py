"""Bytes of a file -> document: decoding, dispatch on the suffix, and the quick look that skips files without a plan.

Every reader records ``syntax-error`` with the data keys ``message`` (what is wrong, no full stop) and ``help`` ("" when
there is nothing to add), at the place of the first character at fault.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager

from hplint.plan.fault import Fault
from hplint.plan.plan import Document
from hplint.text.source import Source
from hplint.text.span import Span

_WIDE = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_LARGE = 200_000
_HINT = re.compile(
    rb"hplint:|plan_overrides|match|params|region_dispatch|in_(?:src|dst)|out_(?:src|dst)|local_compute_fn"
    rb"|inner_(?:target|wrapper|out_src)|tp_divide_attrs|replace_module|module_type|exact_type|ShardingSpec|Module\w+Spec|(?:tp|ep|pp)_plan"
    rb"|parallelize_module|ParallelStyle|(?:Colwise|Rowwise|Sequence)Parallel|PrepareModule(?:In|Out)put"
    # A key may also be spelled with escapes.
    rb"|\\[xuUN\r\n]|^(?:\xff\xfe|\xfe\xff|\x00\x00\xfe\xff)"
)


def may_hold_plan(data: bytes) -> bool:
    """Whether a file may hold a plan or a directive: False only where it surely does not. Cheap, for folders of
    unrelated files."""
    return _HINT.search(data) is not None


def read_document(path: str, data: bytes) -> Document:
    """Read a plan file. ``path`` is the path as shown; its suffix says the language (``.py`` is Python, ``.json`` is
    JSON, all else YAML). Never raises: what is wrong is among the document's faults."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _undecodable(path, data, error)
    source = Source(path, text)
    with _collector_paused(len(text) > _LARGE):
        return _read(source, path)


def _read(source: Source, path: str) -> Document:
    if path.endswith(".py"):
        from hplint.front.python.plan import read_python

        return read_python(source)
    from hplint.front.yaml.plan import read_yaml

    return read_yaml(source, tabs=path.endswith(".json"))


@contextmanager
def _collector_paused(pause: bool) -> Iterator[None]:
    """Reading makes millions of objects and no cycles: looking for cycles would take two thirds of the time."""
    pause = pause and gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


def _undecodable(path: str, data: bytes, error: UnicodeDecodeError) -> Document:
    """The document of a file that is not UTF-8: what can be read of it, with U+FFFD where it cannot."""
    wide = next((name for mark, name in _WIDE if data.startswith(mark)), None)
    source = Source(path, data.decode("utf-8", "replace"))
    if wide:
        place, message = Span(0, 0), f"the file is {wide}, not UTF-8"
    else:
        start = len(data[: error.start].decode("utf-8"))
        place, message = Span(start, start + 1), f"the byte 0x{data[error.start]:02X} is not UTF-8"
    fault = Fault("syntax-error", place, data={"message": message, "help": "save it as UTF-8"})
    return Document(source, faults=(fault,))
