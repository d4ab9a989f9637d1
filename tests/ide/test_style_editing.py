"""Plans of styles in an editor: hover, completion and definitions, in YAML, JSON and Python."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from lsp_client import ROOT, Client

HEAD = "# hplint: model=tree:llama.json mesh=tp=2\n"
YAML = HEAD + "tp_plan:\n  model.layers.*.mlp.up_proj: colwise\n  model.layers.*.mlp.down_proj: rowwise\n"
PYTHON = HEAD + (
    "class LlamaConfig:\n    base_model_tp_plan = {\n"
    "        'layers.*.mlp.up_proj': 'colwise',\n        'layers.*.mlp.down_proj': 'rowwise',\n    }\n"
)
TORCH = HEAD + (
    "from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module\n\n\n"
    "def apply(model, mesh):\n    for layer in model.model.layers:\n"
    "        parallelize_module(layer, mesh, {'mlp.up_proj': ColwiseParallel()})\n"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copy(ROOT / "fixtures" / "trees" / "llama.json", folder)
    started = Client(folder)
    yield started
    started.kill()


def asked(client: Client, method: str, name: str, text: str, token: str, shift: int = 1) -> Any:
    """The answer at a place inside the first occurrence of a token."""
    client.open(name, text)
    offset = text.index(token) + shift
    before = text[:offset]
    return client.at(method, name, before.count("\n"), offset - before.rfind("\n") - 1)


def hovered(client: Client, name: str, text: str, token: str) -> str:
    return str(asked(client, "hover", name, text, token)["contents"]["value"])


@pytest.mark.parametrize(
    ("name", "text", "token"),
    [
        ("hover.yaml", YAML, "model.layers.*.mlp.up_proj"),
        ("hover.py", PYTHON, "layers.*.mlp.up_proj"),
        ("hover_torch.py", TORCH, "mlp.up_proj"),
    ],
)
def test_hovering_a_key_tells_what_it_hits_and_how_that_is_cut(
    client: Client, name: str, text: str, token: str
) -> None:
    told = hovered(client, name, text, token)
    assert "**2 modules** (with tp=2)" in told
    assert "Linear x2: `model.layers.0.mlp.up_proj`, `model.layers.1.mlp.up_proj`" in told
    assert "| weight | 96 x 64 | tp shard(0) |" in told


@pytest.mark.parametrize(
    ("name", "text", "token", "words"),
    [
        ("word.yaml", YAML, "rowwise", "**rowwise**: input features cut"),
        ("word.py", PYTHON, "'colwise'", "**colwise**: output features cut"),
        ("word_torch.py", TORCH, "ColwiseParallel()", "**ColwiseParallel**: output features cut"),
    ],
)
def test_hovering_a_style_tells_what_it_does(client: Client, name: str, text: str, token: str, words: str) -> None:
    assert words in hovered(client, name, text, token)


@pytest.mark.parametrize(
    ("name", "text", "offered"),
    [
        ("key.yaml", HEAD + "tp_plan:\n  model.layers.*.mlp.|\n", "model.layers.*.mlp.up_proj"),
        ("key2.yaml", YAML + "  model.layers.*.self_attn.|: colwise\n", "model.layers.*.self_attn.q_proj"),
        ("key3.yaml", YAML + "  |\n", "lm_head"),
        ("value.yaml", YAML + "  lm_head: col|\n", "colwise_gather_output"),
        ("key.py", PYTHON.replace("    }\n", "        'layers.*.|'\n    }\n"), "layers.*.mlp"),
        ("key2.py", PYTHON.replace("    }\n", "        'layers.*.mlp.|\n    }\n"), "layers.*.mlp.gate_proj"),
        ("value.py", PYTHON.replace("'rowwise'", "'|'"), "rowwise_split_input"),
        ("key_torch.py", TORCH.replace("()}", "(), 'mlp.|'}"), "mlp.gate_proj"),
    ],
)
def test_completion_offers_the_next_segment_or_the_words(client: Client, name: str, text: str, offered: str) -> None:
    place = text.index("|")
    whole = text.replace("|", "")
    before = whole[:place]
    client.open(name, whole)
    items = client.at("completion", name, before.count("\n"), place - before.rfind("\n") - 1)
    labels = [item["label"] for item in items]
    assert offered in labels


def test_completion_replaces_the_key_that_is_typed_and_leaves_its_quotes(client: Client) -> None:
    text = PYTHON.replace("'rowwise'", "''")
    client.open("typed.py", text)
    line = next(i for i, row in enumerate(text.split("\n")) if "''" in row)
    column = text.split("\n")[line].index("''") + 1
    (first, *_) = client.at("completion", "typed.py", line, column)
    place = {"line": line, "character": column}
    assert first["textEdit"]["range"] == {"start": place, "end": place}
    assert first["detail"]


def test_a_key_leads_to_the_class_of_its_modules(client: Client) -> None:
    pytest.importorskip("transformers")
    found = asked(client, "definition", "class.yaml", HEAD + "tp_plan:\n  model.layers.*.mlp: replicate\n", "model.la")
    assert [place["uri"].rpartition("/")[2] for place in found] == ["modeling_llama.py"]


def test_a_shipped_plan_has_no_place_but_counts_in_the_hover_of_others(client: Client) -> None:
    told = hovered(client, "own.yaml", HEAD + "tp_plan:\n  lm_head: colwise\n", "lm_head")
    assert "**1 module**" in told
