"""A text that is read again after a change gives what reading it afresh gives."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checking import FIXTURES
from hypothesis import given, settings
from hypothesis import strategies as st

import hplint.front.reread as reread
from hplint.front.read import read_document
from hplint.front.reread import Rereader
from hplint.text.source import Source

TEXTS = [p.read_text(encoding="utf-8") for p in sorted((FIXTURES / "plans").glob("*/*.yaml"))]
TRAINER = """\
# hplint: mesh=tp=2
model: {pretrained_model_name_or_path: a}
plan_overrides:
  # first
  - match: "*.mlp"
    params: {up.weight: {tp: shard(0)}, down.weight: {tp: shrd(1)}}  # hplint: ignore[HPL203] -- known
    out_dst: auto

  - match: model.layers.*.attn
    in_src: {x: {tp: replicate}}
    inner_wrapper: {_target_: acme.wrap, block: [1, 2]}
    inner_out_src: {o: {tp: partial}}
    parms: {}
    in_src: none
    # noqa: HPL101
  - match: [a, b]
    replace_module: {_target_: acme..make}
    when: cq
# the end
accelerator:
  tp_size: 2
  sequence_parallel: true
  nothing: 3
"""
LIST = "- match: a\n  out_dst: {tp: shard(0)}\n- match: b\n  tp_divide_attrs: [x, x]\n"
WORDS = (
    "- ", "  ", "\n", "- match: c\n", "  - match: c\n    when: cp\n", "params: {", "}", "'", '"', "[", "]", ": ", "#",
    " # noqa: HPL101", "# hplint: ep=2\n", "&a ", "*a", "---\n", "...\n", "|\n", "x", "shard(0)", "\t", "\r\n", "é𝒳",
    "accelerator:\n", "plan_overrides:\n", "? ", "!t ", "<<: ",
)  # fmt: skip


def plainly(value: Any) -> Any:
    """Everything that a document says, comparable."""
    if isinstance(value, Source):
        return value.text
    if dataclasses.is_dataclass(value):
        return type(value).__name__, {f.name: plainly(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return [(plainly(k), plainly(v)) for k, v in value.items()]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plainly(v) for v in value]
    return value


def assert_same(reader: Rereader, text: str) -> None:
    assert plainly(reader.read("plan.yaml", text)) == plainly(read_document("plan.yaml", text.encode()))


@pytest.fixture
def wholly(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are read as a whole."""
    told: list[str] = []
    whole: Callable[..., Any] = reread.read_document

    def read(path: str, data: bytes) -> Any:
        told.append(data.decode())
        return whole(path, data)

    monkeypatch.setattr(reread, "read_document", read)
    return told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shrd(1)", "shard(1)"),
        ("auto", "none"),
        ("auto\n", "auto\n    when: cp\n"),
        ("match: [a, b]", "match: [a, b, c]"),
        ("[HPL203] -- known", "[HPL203,HPL101]"),
        ("    when: cq\n", ""),
        ("  - match: [a, b]\n", "  - match: c\n    out_dst: auto\n  - match: [a, b]\n"),
        ("    # noqa: HPL101\n  - match: [a, b]\n", ""),
        ("acme.wrap, block: [1, 2]", "acme.wrap, block: [1, 2, 3], more: {a: b}"),
    ],
)
def test_a_change_of_entries_reads_these_alone(wholly: list[str], old: str, new: str) -> None:
    reader = Rereader()
    reader.read("plan.yaml", TRAINER)
    changed = TRAINER.replace(old, new)
    assert changed != TRAINER
    assert_same(reader, changed)
    assert_same(reader, TRAINER)
    assert wholly == [TRAINER]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  - match: [a, b]", "- match: [a, b]"),
        ("tp_size: 2", "tp_size: 4"),
        ("plan_overrides", "plan_override"),
        ("    when: cq\n", "when: cq\n"),
        ("[1, 2]", "&a [1, 2]"),
        ("  - match: [a, b]\n", "...\n  - match: [a, b]\n"),
    ],
)
def test_a_change_that_may_reach_further_reads_the_whole(old: str, new: str) -> None:
    reader = Rereader()
    reader.read("plan.yaml", TRAINER)
    assert_same(reader, TRAINER.replace(old, new))
    assert_same(reader, TRAINER)


def test_a_text_that_is_broken_for_a_while_is_compared_with_its_last_whole_state(wholly: list[str]) -> None:
    reader = Rereader()
    reader.read("plan.yaml", TRAINER)
    assert_same(reader, TRAINER.replace("[1, 2]}", "[1, 2"))
    assert_same(reader, TRAINER.replace("[1, 2]}", "[1, 2, 3]}"))
    assert wholly == [TRAINER]


def test_what_is_no_yaml_is_read_as_a_whole() -> None:
    reader = Rereader()
    for text in ("plan = {}\n", 'plan = {"a": ModuleShardingSpec()}\n'):
        assert plainly(reader.read("p.py", text)) == plainly(read_document("p.py", text.encode()))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from((TRAINER, LIST, *TEXTS)), st.data())
def test_any_run_of_changes_gives_what_reading_afresh_gives(text: str, data: st.DataObject) -> None:
    reader = Rereader()
    reader.read("plan.yaml", text)
    for _ in range(data.draw(st.integers(1, 4), label="changes")):
        start = data.draw(st.integers(0, len(text)), label="start")
        end = min(len(text), start + data.draw(st.sampled_from((0, 0, 0, 1, 2, 9, 60, 400)), label="length"))
        text = text[:start] + "".join(data.draw(st.lists(st.sampled_from(WORDS), max_size=3), label="new")) + text[end:]
        assert_same(reader, text)


def test_every_letter_of_a_plan_can_be_typed(wholly: list[str]) -> None:
    reader = Rereader()
    for end in range(len(LIST) + 1):
        assert_same(reader, LIST[:end])


@pytest.mark.parametrize("path", sorted((FIXTURES / "plans" / "ok").glob("*.yaml")), ids=lambda p: p.stem)
def test_each_line_of_a_plan_can_be_taken_out_and_put_back(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    reader = Rereader()
    reader.read("plan.yaml", text)
    for number in range(0, len(lines), max(1, len(lines) // 12)):
        assert_same(reader, "".join(lines[:number] + lines[number + 1 :]))
        assert_same(reader, text)
