"""Bytes to documents: never an exception, places inside the text, nothing skipped that holds a plan."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hplint.front.read import may_hold_plan, read_document
from hplint.plan.fault import Fault
from hplint.plan.plan import Document

PLAN = """\
# hplint: model=tree:toy.json mesh=tp=2
model: {pretrained_model_name_or_path: ./tiny}
accelerator: {tp_size: 2, sequence_parallel: true}
plan_overrides:
- &base
  match: "*.self_attn"
  when: cp
  region_dispatch: false
  inner_target: self
  inner_wrapper: {_target_: pkg.wrap, window: 4}
- match: model.layers.0.mlp
  params:
    up_proj.weight: {tp: shard(0)}
    down_proj.weight: {tp: shard(1)}
  in_src: {hidden_states: {tp: shard(1)}}
  out_src: {tp: partial}
  inner_out_src: first_input
  tp_divide_attrs: [num_heads]
- <<: *base
  match: [a, b]
"""
LINES = PLAN.splitlines(keepends=True)


def spans(document: Document) -> Iterator[tuple[int, int]]:
    faults: list[Fault] = list(document.faults)
    for plan in document.plans:
        faults += plan.faults
        yield plan.anchor
        for entry in plan.entries:
            yield entry.span
            yield from (*entry.keys.values(), *entry.values.values(), *(m.span for m in entry.matches))
            for field in entry.contract.values():
                yield from (field.key_span, field.span)
                for layout in (field.layouts or {}).values():
                    yield from (*layout.axis_spans.values(), *layout.placement_spans.values())
    for fault in faults:
        yield fault.span
        yield from (span for _, span in fault.related)
    yield from (d.span for d in document.directives)


def check(data: bytes, path: str = "plan.yaml") -> Document:
    document = read_document(path, data)
    for start, end in spans(document):
        assert 0 <= start <= end <= len(document.source.text)
    for plan in document.plans:
        assert all(f.entry is None or plan.entries[f.entry].index == f.entry for f in plan.faults)
        assert may_hold_plan(data)
    return document


def test_the_plan_itself_has_one_fault() -> None:
    document = check(PLAN.encode())
    assert [(p.dialect, [f.rule for f in p.faults]) for p in document.plans] == [("yaml", ["match-list"])]


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_give_a_document(data: bytes) -> None:
    check(data)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_a_document(text: str) -> None:
    check(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_mutation_of_a_plan_gives_a_document(data: st.DataObject) -> None:
    lines = list(LINES)
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["drop", "twice", "swap", "indent"]))
        other = data.draw(st.integers(0, len(lines) - 1))
        if change == "drop" and len(lines) > 1:
            del lines[at]
        elif change == "twice":
            lines.insert(other, lines[at])
        elif change == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = "  " + lines[at]
    text = "".join(lines)
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(text)))
        size = data.draw(st.integers(0, 5))
        piece = data.draw(st.sampled_from(["", "x", ":", " ", "\n", '"', "{", "]", "null", "3"]))
        text = text[:at] + piece + text[at + size :]
    check(text.encode())


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(PLAN)), st.binary(max_size=3))
def test_any_bytes_in_a_plan_give_a_document(at: int, piece: bytes) -> None:
    data = PLAN.encode()
    check(data[:at] + piece + data[at:])


@pytest.mark.parametrize(
    ("data", "start", "part"),
    [
        (b"- match: \xff\n", 9, "0xFF"),
        ("é: ".encode() + b"\xe9", 3, "0xE9"),
        (PLAN.encode("utf-16"), 0, "UTF-16"),
        (b"\xfe\xff" + PLAN.encode("utf-16-be"), 0, "UTF-16"),
        (PLAN.encode("utf-32"), 0, "UTF-32"),
    ],
)
def test_what_is_not_utf_8_is_a_fault_at_the_first_bad_byte(data: bytes, start: int, part: str) -> None:
    (fault,) = check(data).faults
    assert fault.rule == "syntax-error"
    assert fault.span.start == start
    assert part in fault.data["message"]


@pytest.mark.parametrize("data", [PLAN.encode("utf-16"), b'- "m\\x61tch": a\n', b"\xff\xfe", b'{"par\\\nams": {}}'])
def test_a_quick_look_skips_nothing_that_may_be_a_plan(data: bytes) -> None:
    assert may_hold_plan(data)


@pytest.mark.parametrize("data", [b"", b"a: 1\n", b"services:\n  web: {image: nginx}\n", b"import os\n"])
def test_a_quick_look_skips_what_is_surely_no_plan(data: bytes) -> None:
    assert not may_hold_plan(data)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_change_nothing_but_places(end: str) -> None:
    plain = check(PLAN.encode())
    other = check(("\ufeff" + PLAN.replace("\n", end)).encode())
    assert [[e.match for e in p.entries] != [] for p in other.plans] == [True]
    for a, b in zip(spans(plain), spans(other), strict=True):
        assert plain.source.cut(a) == other.source.cut(b).replace(end, "\n")
        assert plain.source.position(a[0]) == other.source.position(b[0])


def test_fifty_megabytes_are_a_fault_and_no_wait() -> None:
    document = check(b"- match: a\n  in_src: auto\n" * 2_000_000)
    assert [f.rule for f in document.faults] == ["syntax-error"]


def test_fifty_megabytes_of_something_else_are_no_fault() -> None:
    document = check(b"- match: a\n" * 5_000_000)
    assert document.faults == () and document.plans == ()


def test_reading_leaves_the_garbage_collector_as_it_was() -> None:
    check(b"- match: a\n" * 50_000)
    assert gc.isenabled()
