"""The language server over real pipes, with a scripted client."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_client import ROOT, Client, applied

PLAN = """\
# hplint: model=tree:toy.json mesh=dp=2,tp=2
plan_overrides:
- match: model.layers.*.mlp
  params:
    up_proj.weight: {tp: shrd(0)}
    gate_proj.weight: {tp: shard(0)}
    down_proj.weight: {tp: shard(1)}
  out_dst: {tp: shard(1), cp: shard(1)}  # hplint: ignore[HPL204] -- 𝒳
- match: model.layers.0.mpl
  out_dst: auto
"""
KERNELS = '''\
from hplint.apply import local_compute


@local_compute
def make(*, mesh, tp_mesh, cp_mesh, ep_mesh):
    """Make the compute.

    Once for each boundary."""

    def compute(module, hidden_states):
        return hidden_states

    return compute
'''
FACTORY = "from torch import nn\n\n\ndef tiny():\n    return nn.Sequential(nn.Linear(4, 4))\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copy(ROOT / "fixtures" / "trees" / "toy.json", folder)
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "factory.py").write_text(FACTORY)
    started = Client(folder)
    yield started
    started.kill()


def codes(found: list[dict[str, Any]]) -> list[str]:
    return [d["code"] for d in found]


def position(text: str, token: str, shift: int = 1) -> tuple[int, int]:
    """Line and column, in UTF-16 units, inside the first occurrence of a token."""
    offset = text.index(token) + shift
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line, len(before.encode("utf-16-le")) // 2


def range_of(text: str, token: str) -> dict[str, Any]:
    line, column = position(text, token)
    place = {"line": line, "character": column}
    return {"start": place, "end": place}


def test_findings_come_with_places_and_help(client: Client) -> None:
    found = client.open("plan.yaml", PLAN)
    assert sorted(codes(found)) == ["HPL101", "HPL203"]
    (wrong,) = [d for d in found if d["code"] == "HPL203"]
    assert wrong["range"] == {"start": {"line": 4, "character": 25}, "end": {"line": 4, "character": 32}}
    assert wrong["severity"] == 1
    assert wrong["source"] == "hplint"
    assert "\n" in wrong["message"]


def test_findings_follow_the_typing(client: Client) -> None:
    client.open("typed.yaml", PLAN)
    fixed = PLAN.replace("shrd", "shard").replace("mpl", "mlp")
    assert client.change("typed.yaml", fixed, 2) == []
    assert client.versions[client.uri("typed.yaml")] == 2
    assert codes(client.change("typed.yaml", fixed.replace("out_dst", "out_dest", 1), 3)) == ["HPL002"]


def test_a_text_that_does_not_parse_says_where(client: Client) -> None:
    assert codes(client.open("broken.yaml", PLAN + "- match: [\n")) == ["HPL001"]


def test_a_closed_text_has_no_findings(client: Client) -> None:
    client.open("closed.yaml", PLAN)
    client.published.clear()
    client.close("closed.yaml")
    assert client.found("closed.yaml") == []


def test_texts_without_a_plan_are_left_alone(client: Client) -> None:
    assert client.open("other.yaml", "name: a\nsteps: [1, 2]\n") == []


def test_columns_count_as_the_client_counts(client: Client) -> None:
    text = PLAN.replace("out_dst: {tp: shard(1),", "out_dst: {'𝒳𝒳': {tp: shrd(1)}} #")
    (found,) = [d for d in client.open("wide.yaml", text) if d["range"]["start"]["line"] == 7 and d["code"] == "HPL203"]
    assert found["range"]["start"]["character"] == position(text, "shrd(1)", 0)[1]


def test_a_quick_fix_is_that_of_the_command_line(client: Client) -> None:
    client.open("fixed.yaml", PLAN)
    found = client.actions("fixed.yaml", range_of(PLAN, "mpl"))
    (fix,) = [a for a in found if a.get("isPreferred")]
    assert applied(PLAN, fix) == PLAN.replace("mpl", "mlp")
    assert codes(fix["diagnostics"]) == ["HPL101"]


def test_all_safe_fixes_at_once_are_those_of_the_command_line(client: Client) -> None:
    client.open("every.yaml", PLAN)
    (action,) = client.actions("every.yaml", range_of(PLAN, "match"), ["source.fixAll"])
    (client.folder / "every.yaml").write_text(PLAN, encoding="utf-8")
    command = [sys.executable, "-m", "hplint", "--fix", "every.yaml", "--isolated"]
    subprocess.run(command, cwd=client.folder, capture_output=True, timeout=60, check=False)
    after = (client.folder / "every.yaml").read_text(encoding="utf-8")
    assert after != PLAN
    assert applied(PLAN, action) == after


def test_the_fix_of_everything_is_worked_out_when_it_is_chosen(client: Client) -> None:
    client.open("lazy.yaml", PLAN)
    (action,) = [a for a in client.actions("lazy.yaml", range_of(PLAN, "mpl")) if a["kind"] == "source.fixAll.hplint"]
    assert "edit" not in action
    assert "mlp" in applied(PLAN, client.ask("codeAction/resolve", action))


def test_a_finding_can_be_ignored(client: Client) -> None:
    client.open("ignored.yaml", PLAN)
    found = client.actions("ignored.yaml", range_of(PLAN, "mpl"))
    (action,) = [a for a in found if a["title"] == "Ignore HPL101 here"]
    after = applied(PLAN, action)
    assert "# hplint: ignore[HPL101]" in after
    assert codes(client.change("ignored.yaml", after, 2)) == ["HPL203"]


def hover(client: Client, name: str, text: str, token: str, shift: int = 1) -> str:
    told = client.at("hover", name, *position(text, token, shift))
    return told["contents"]["value"] if told else ""


def test_hovering_a_match_tells_where_it_lands(client: Client) -> None:
    client.open("hover.yaml", PLAN)
    told = hover(client, "hover.yaml", PLAN, "model.layers.*.mlp")
    assert "merges into" in told
    assert "GatedMLP" in told
    assert "| out | output |" in told


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("out_dst", "layouts handed on"),
        ("tp: shard(1)", "tensor parallel"),
        ("shard(1)", "slice along dim 1"),
        ("gate_proj.weight", "on a rank (tp cuts dim 0)"),
        ("HPL204", "inactive-axis"),
    ],
)
def test_hovering_tells_what_a_token_means(client: Client, token: str, words: str) -> None:
    client.open("token.yaml", PLAN)
    assert words in hover(client, "token.yaml", PLAN, token)


def test_hovering_nothing_tells_nothing(client: Client) -> None:
    client.open("nothing.yaml", PLAN)
    assert client.at("hover", "nothing.yaml", 1, 40) is None


TARGET = """\
# hplint: model=tree:toy.json mesh=tp=2
- match: model.layers.0.mlp
  region_dispatch: false
  local_compute_fn: {_target_: kernels.make}
"""


def test_hovering_a_target_tells_its_signature(client: Client) -> None:
    client.open("target.yaml", TARGET)
    told = hover(client, "target.yaml", TARGET, "kernels.make")
    assert "def make(*, mesh, tp_mesh, cp_mesh, ep_mesh)" in told
    assert "Make the compute." in told


def test_a_target_leads_to_its_function(client: Client) -> None:
    client.open("goto.yaml", TARGET)
    (found,) = client.at("definition", "goto.yaml", *position(TARGET, "kernels.make"))
    assert found["uri"] == client.uri("kernels.py")
    assert found["range"]["start"]["line"] == 4


def test_a_match_leads_to_the_class_of_its_module(client: Client) -> None:
    text = "# hplint: model=tree:toy.json mesh=tp=2\n- match: lm_head\n  out_dst: auto\n"
    client.open("class.yaml", text)
    (found,) = client.at("definition", "class.yaml", *position(text, "lm_head"))
    assert found["uri"].endswith("/torch/nn/modules/linear.py")


def labels(client: Client, name: str, text: str) -> list[str]:
    """What is offered at the ``|`` of a text."""
    line, column = position(text, "|", 0)
    client.open(name, text.replace("|", ""))
    return [i["label"] for i in client.at("completion", name, line, column)]


HEAD = "# hplint: model=tree:toy.json mesh=dp=2,tp=2\n"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("- match: |\n", "*.mlp"),
        ("- match: model.|\n", "model.layers"),
        ("- match: model.layers.|\n", "model.layers.*"),
        ("- match: model.layers.*.|\n", "model.layers.*.self_attn"),
        ("- match: model.layers.0.mlp\n  |\n", "out_dst"),
        ("- match: model.layers.0.mlp\n  out_dst: |\n", "auto"),
        ("- match: model.layers.0.mlp\n  when: |\n", "cp"),
        ("- match: model.layers.0.mlp\n  region_dispatch: |\n", "false"),
        ("- match: model.layers.0.self_attn\n  inner_wrapper: |\n", "sdpa_hf"),
        ("- match: model.layers.0.self_attn\n  inner_target: |\n", "q_proj"),
        ("- match: model.layers.0.mlp\n  params:\n    |\n", "up_proj.weight"),
        ("- match: model.layers.0.mlp\n  params:\n    up_proj.weight: {|\n", "tp"),
        ("- match: model.layers.0.mlp\n  params:\n    up_proj.weight: {tp: |\n", "shard(1)"),
        ("- match: model.layers.0.mlp\n  params: {up_proj.weight: {tp: sh|}}\n", "shard(0)"),
        ("- match: model.layers.0.mlp\n  in_src:\n    |\n", "hidden_states"),
        ("- match: model.layers.0.mlp\n  out_src: {|\n", "tp"),
        ("- match: a  # hplint: ignore[|\n", "HPL101"),
        ("plan_overrides:\n  - match: model.layers.0.mlp\n    |\n", "in_dst"),
        ("accelerator:\n  |\nplan_overrides: []\n", "tp_size"),
    ],
)
def test_completion_offers_what_may_stand_there(client: Client, text: str, offered: str) -> None:
    assert offered in labels(client, "offer.yaml", HEAD + text)


def test_completion_leaves_out_keys_that_are_there(client: Client) -> None:
    offered = labels(client, "keys.yaml", HEAD + "- match: lm_head\n  out_dst: auto\n  |\n")
    assert "match" not in offered
    assert "out_dst" not in offered
    assert "params" in offered


def test_completion_replaces_the_word_that_is_typed(client: Client) -> None:
    text = HEAD + "- match: model.la\n"
    client.open("word.yaml", text)
    (item,) = client.at("completion", "word.yaml", 1, 17)[:1]
    assert item["textEdit"]["range"] == {"start": {"line": 1, "character": 9}, "end": {"line": 1, "character": 17}}


def test_a_model_is_built_in_the_background_with_progress(client: Client) -> None:
    text = "# hplint: model=py:factory.py:tiny mesh=tp=2\n- match: '1'\n  out_dst: auto\n"
    first = client.open("built.yaml", text)
    assert codes(first) == [] or "HPL101" in codes(first)
    assert "HPL101" in codes(client.found("built.yaml", lambda found: bool(found)))
    client.settle()
    assert [p["kind"] for p in client.progress] == ["begin", "end"]
    assert "factory.py:tiny" in client.progress[0]["title"]


def test_a_configuration_that_changes_counts_at_once(client: Client) -> None:
    client.settle()
    assert client.registered == ["workspace/didChangeWatchedFiles"]
    client.open("configured.yaml", PLAN)
    config = client.folder / "hplint.toml"
    config.write_text('ignore = ["HPL203"]\n')
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 1}]})
    assert codes(client.found("configured.yaml", lambda found: len(found) == 1)) == ["HPL101"]
    config.write_text('ignroe = ["HPL203"]\n')
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 2}]})
    client.wait(lambda: any("ignroe" in m for m in client.shown))
    config.unlink()
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 3}]})
    client.found("configured.yaml", lambda found: len(found) == 2)


def test_a_configuration_that_is_open_in_the_editor_counts_once_it_is_saved(client: Client) -> None:
    config = client.folder / "hplint.toml"
    client.open("saved.yaml", PLAN)
    client.open("hplint.toml", "")
    config.write_text('ignore = ["HPL203"]\n')
    try:
        client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 1}]})
        assert codes(client.found("saved.yaml", lambda found: len(found) == 1)) == ["HPL101"]
    finally:
        client.close("hplint.toml")
        config.unlink()
        client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 3}]})


def test_an_untrusted_workspace_builds_nothing_and_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "factory.py").write_text(FACTORY + "\n\nopen('ran', 'w').close()\n")
    client = Client(tmp_path, trusted=False, encodings=("utf-32", "utf-16"))
    try:
        assert client.server["capabilities"]["positionEncoding"] in ("utf-32", "utf-16")
        text = "# hplint: model=py:factory.py:tiny mesh=tp=2\n- match: '1'\n  out_dst: {tp: shrd(1)}\n"
        assert codes(client.open("plan.yaml", text)) == ["HPL203"]
        client.change("plan.yaml", text + "\n", 2)
        client.settle()
        assert len(client.shown) == 1
        assert "not trusted" in client.shown[0]
        assert not (tmp_path / "ran").exists()
        assert client.end() == 0
    finally:
        client.kill()


def test_nothing_but_the_protocol_goes_to_the_output(client: Client) -> None:
    assert json.dumps(client.server["serverInfo"]["name"]) == '"hplint"'
    assert client.process.poll() is None
