"""Clients of the language server that count otherwise, can do little, edit ranges, or go without a word."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsp_client import ROOT, Client
from lsprotocol import types

from hplint.ide.lsp.positions import Positions, edited
from hplint.text.source import Source

HEAD = "# hplint: model=tree:toy.json mesh=dp=2,tp=2\n"
PLAN = (
    HEAD
    + "- match: model.layers.0.mlp  # 𝒳é\n  out_dst: {tp: shard(1)}\n- match: model.layers.1.mlp\n  out_dst: auto\n"
)
TARGET = HEAD + "- match: model.layers.0.mlp\n  region_dispatch: false\n  local_compute_fn: {_target_: kernels.make}\n"
KERNELS = """\
from hplint.apply import local_compute


@local_compute
def make(*, mesh, tp_mesh, cp_mesh, ep_mesh):
    def compute(module, hidden_states):
        return hidden_states

    return compute
"""


def start(folder: Path, **more: Any) -> Client:
    shutil.copy(ROOT / "fixtures" / "trees" / "toy.json", folder)
    return Client(folder, **more)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client without any capability but columns in bytes."""
    client = start(tmp_path_factory.mktemp("bare"), bare=True, encodings=("utf-8", "utf-16"))
    yield client
    client.kill()


def codes(found: list[dict[str, Any]]) -> list[str]:
    return [d["code"] for d in found]


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    places = [{"line": line, "character": column} for line, column in (start, end)]
    return {"range": {"start": places[0], "end": places[1]}, "text": text}


def test_a_client_that_can_do_little_is_served_all_the_same(bare: Client) -> None:
    assert bare.server["capabilities"]["positionEncoding"] == "utf-8"
    assert bare.open("plan.yaml", PLAN) == []
    assert bare.registered == []
    assert "merges into" in bare.at("hover", "plan.yaml", 1, 12)["contents"]["value"]


def test_changes_of_ranges_follow_each_other(bare: Client) -> None:
    bare.open("ranges.yaml", PLAN)
    # Behind the comment, whose letters take four bytes and two.
    changes = [
        change((2, 16), (2, 24), "shrd(1)"),
        change((1, 37), (1, 37), "\n  parms: auto"),
        change((0, 0), (0, 1), "#"),
    ]
    found = bare.edit("ranges.yaml", changes, 2)
    assert codes(found) == ["HPL002", "HPL203"]
    assert found[1]["range"]["start"] == {"line": 3, "character": 16}
    assert bare.edit("ranges.yaml", [{"text": PLAN}], 3) == []


def test_columns_are_bytes_where_the_client_counts_bytes(bare: Client) -> None:
    text = HEAD + "- {match: model.layers.0.mlp, out_dst: {'𝒳é': {tp: shrd(1)}}}\n"
    (found,) = [d for d in bare.open("bytes.yaml", text) if d["code"] == "HPL203"]
    before = text.splitlines()[1].partition("shrd")[0]
    assert found["range"]["start"]["character"] == len(before.encode())


def test_what_was_never_opened_or_is_gone_is_answered_with_nothing(bare: Client) -> None:
    bare.tell(
        "textDocument/didChange",
        {"textDocument": {"uri": bare.uri("never.yaml"), "version": 2}, "contentChanges": [{"text": PLAN}]},
    )
    bare.tell("textDocument/didSave", {"textDocument": {"uri": bare.uri("never.yaml")}})
    bare.close("never.yaml")
    assert bare.at("hover", "never.yaml", 0, 0) is None
    assert bare.at("completion", "never.yaml", 0, 0) == []
    assert bare.actions("never.yaml", change((0, 0), (9, 9), "")["range"]) == []


def test_a_plan_that_is_deleted_while_it_is_open_is_checked_on(bare: Client) -> None:
    path = bare.folder / "gone.yaml"
    path.write_text(PLAN, encoding="utf-8")
    bare.open("gone.yaml", PLAN)
    path.unlink()
    bare.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 3}]})
    assert codes(bare.edit("gone.yaml", [change((2, 16), (2, 24), "shrd(1)")], 2)) == ["HPL203"]


def test_a_text_without_a_file_is_checked(bare: Client) -> None:
    uri = "untitled:Untitled-1"
    item = {"uri": uri, "languageId": "yaml", "version": 1, "text": "- match: a\n  out_dst: {tp: shrd(1)}\n"}
    bare.tell("textDocument/didOpen", {"textDocument": item})
    bare.wait(lambda: bool(bare.published.get(uri)))
    assert codes(bare.published[uri]) == ["HPL203"]


def test_who_goes_without_a_word_leaves_exit_code_1(tmp_path: Path) -> None:
    client = start(tmp_path, bare=True)
    try:
        assert client.leave() == 1
    finally:
        client.kill()


def test_each_root_has_its_own_source_and_configuration(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root in (one, two):
        (root / "plans").mkdir(parents=True)
        shutil.copy(ROOT / "fixtures" / "trees" / "toy.json", root / "plans")
    (one / "kernels.py").write_text(KERNELS)
    (two / "hplint.toml").write_text('ignore = ["HPL203"]\n')
    client = Client(tmp_path, roots=(one, two))
    try:
        text = TARGET + "- match: lm_head\n  out_dst: {tp: shrd(1)}\n"
        assert codes(client.open("one/plans/plan.yaml", text)) == ["HPL203"]
        assert codes(client.open("two/plans/plan.yaml", text)) == ["HPL501"]
        shutil.copy(one / "kernels.py", two)
        gone = {"event": {"added": [], "removed": [{"uri": one.as_uri(), "name": "one"}]}}
        client.tell("workspace/didChangeWorkspaceFolders", gone)
        assert client.found("two/plans/plan.yaml", lambda found: not found) == []
        assert client.end() == 0
    finally:
        client.kill()


@settings(max_examples=100)
@given(st.text("a𝒳é\n\r:", max_size=20), st.data(), st.sampled_from(("utf-8", "utf-16", "utf-32")))
def test_a_change_of_a_range_replaces_what_stands_there(text: str, data: st.DataObject, encoding: str) -> None:
    # Between the two halves of a line end there is no place.
    places = [n for n in range(len(text) + 1) if text[n - 1 : n + 1] != "\r\n" or n == 0]
    start, end = sorted((data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))))
    positions = Positions(Source("", text), encoding)
    range_ = types.Range(positions.position(start), positions.position(end))
    one = types.TextDocumentContentChangePartial(range=range_, text="new")
    assert edited(text, [one], encoding) == text[:start] + "new" + text[end:]
