"""What fixing makes of PyTorch plans."""

from functools import partial

import pytest
from checking import check_plans, fixture_tree, mesh_topology

from hplint.fix.loop import Fixed, fix_text

HEAD = "from torch.distributed.tensor import Shard\nfrom torch.distributed.tensor.parallel import (\n    {}parallelize_module,\n)\n"  # noqa: E501
BOTH = "ColwiseParallel, RowwiseParallel, "


def fixed(text: str, names: str = BOTH) -> Fixed:
    check = partial(check_plans, topology=mesh_topology({"tp": 2}), tree=fixture_tree("llama"), suffix=".py")
    return fix_text(HEAD.format(names) + text, check, unsafe=True)


def block(*items: str, before: str = "") -> str:
    plan = "".join(f"        {item},\n" for item in items)
    return f"{before}for layer in model.model.layers:\n    parallelize_module(layer, mesh, {{\n{plan}    }})\n"


UP, DOWN = "'mlp.up_proj': ColwiseParallel()", "'mlp.down_proj': RowwiseParallel()"
GATHERED = "ColwiseParallel(output_layouts=Replicate())"


@pytest.mark.parametrize(
    ("items", "after"),
    [
        (("'mlp.gate_proj': ColwiseParallel()", UP, "'mlp.down_proj': ColwiseParallel()"), (DOWN,)),
        (
            ("'mlp.gate_proj': RowwiseParallel()", "'mlp.up_proj': RowwiseParallel()",
             "'mlp.down_proj': ColwiseParallel()"),
            (UP, DOWN, "'mlp.gate_proj': ColwiseParallel()"),
        ),
        (
            (f"'mlp.gate_proj': {GATHERED}", f"'mlp.up_proj': {GATHERED}", DOWN),
            (UP, "'mlp.gate_proj': ColwiseParallel()", DOWN),
        ),
        (
            (f"'mlp.gate_proj': {GATHERED}", UP, DOWN),
            (UP, "'mlp.gate_proj': ColwiseParallel()", DOWN),
        ),
        (("'mlp.gate_proj': ColwiseParallel()", UP, DOWN, "'mlp.[u]p_proj': ColwiseParallel()"), (UP, DOWN)),
    ],
)  # fmt: skip
def test_pairs_and_keys_are_put_right(items: tuple[str, ...], after: tuple[str, ...]) -> None:
    found = fixed("from torch.distributed.tensor import Replicate\n" + block(*items))
    assert [d for d in found.checked.diagnostics if d.severity == "error"] == []
    assert all(item in found.text for item in after)


def test_the_layout_of_token_ids_is_added_with_its_import() -> None:
    found = fixed("parallelize_module(model, mesh, {'model.embed_tokens': RowwiseParallel()})\n")
    assert "input_layouts=Replicate()" in found.text
    assert [d.code for d in found.checked.diagnostics] == ["HPL612"]
    assert found.text.startswith("from torch.distributed.tensor import Replicate, Shard\n")


def test_a_layout_that_is_written_is_replaced() -> None:
    found = fixed("parallelize_module(model, mesh, {'model.embed_tokens': RowwiseParallel(input_layouts=Shard(1))})\n")
    assert "RowwiseParallel(input_layouts=Replicate())" in found.text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # The helper serves other keys too.
        (
            "def row():\n    return RowwiseParallel()\n"
            "parallelize_module(model, mesh, {'model.embed_tokens': row(), 'model.layers.*.mlp.down_proj': row()})\n",
            BOTH,
        ),
        # The style that is meant is not imported.
        (block("'mlp.gate_proj': ColwiseParallel()", UP, "'mlp.down_proj': ColwiseParallel()"), "ColwiseParallel, "),
        # What its arguments say suits the other style alone.
        (
            block(
                "'mlp.gate_proj': ColwiseParallel()", UP, "'mlp.down_proj': ColwiseParallel(output_layouts=Shard(1))"
            ),
            BOTH,
        ),
        # A narrower key of another style may be the exception that is meant.
        (block("'mlp.*_proj': ColwiseParallel()", DOWN), BOTH),
    ],
)
def test_what_may_mean_something_else_is_left_alone(text: str, names: str) -> None:
    found = fixed(text, names)
    assert found.checked.diagnostics
    assert found.text == HEAD.format(names) + text
