"""parallelize_module plans, handed to torch: what is verified, what is counted, what is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
from ranks import RANKS, on_ranks
from torch_styling import Decoder, compared, frozen, heard, held, made, plan_text

from hplint.apply.dry_run.dry_run import dry_run
from hplint.apply.run.request import ApplyOptions, ApplyRequest
from hplint.cli.main import run
from hplint.errors import RequestError
from hplint.front.read import read_document
from hplint.model.build import model_request
from hplint.model.read_tree import read_tree
from hplint.model.spec import parse_spec
from hplint.resolve.styles.memory import style_memory
from hplint.resolve.topology import Topology

HERE = Path(__file__).parent
FACTORY = f"py:{HERE / 'torch_styling.py'}"
ATTENTION = """\
"attention.q": ColwiseParallel(), "attention.k": ColwiseParallel(), "attention.v": ColwiseParallel(),
        "attention.o": RowwiseParallel()"""
PACKED = 'layers: {"attention.qkv": ColwiseParallel(), "attention.o": RowwiseParallel()}'
MLP = '"mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel()'
EMBED = '"embed": RowwiseParallel(input_layouts=Replicate())'
HEAD = '"head": ColwiseParallel(output_layouts=Replicate())'
PLAIN = plan_text(f"layers: {{{ATTENTION}, {MLP}}}", f"model: {{{EMBED}, {HEAD}}}")
PREPARED = "PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))"
BLOCKS = f"""\
layers: {{
        "first_norm": SequenceParallel(), "second_norm": SequenceParallel(),
        "attention": {PREPARED}, "mlp": {PREPARED},
        {ATTENTION[:-2]}(output_layouts=Shard(1)),
        "mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel(output_layouts=Shard(1)),
    }}"""
ENDS = """\
model: {
        "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }"""
SEQUENCE = plan_text(ENDS, BLOCKS)


class TestVerify:
    pytestmark = RANKS

    @pytest.mark.parametrize(
        ("text", "sizes"),
        [(PLAIN, {"tp": 2}), (SEQUENCE, {"tp": 2, "dp": 2})],
        ids=["plain", "sequence and dp"],
    )
    def test_right_plans_agree_in_outputs_and_every_gradient(self, text, sizes):
        ranks = sizes["tp"] * sizes.get("dp", 1)
        found = on_ranks(ranks, compared, text, {}, sizes, timeout=180)  # the first call imports a good deal
        assert all(one == found[0] for one in found)
        assert found[0]["agrees"] and found[0]["fault"] is None
        assert {c["name"] for c in found[0]["gradients"]} == {n for n, _ in Decoder().named_parameters()}

    @pytest.mark.parametrize(
        ("text", "model", "module"),
        [
            # Which part of the packed output is a query shows where the parts are mixed and summed.
            (
                'layers: {"attention.qkv": ColwiseParallel(), "attention.o": RowwiseParallel()}',
                "fused",
                "0.attention.o",
            ),
            (f"layers: {{{MLP}}}", "normed", "0.mlp.between"),
        ],
        ids=["fused weight", "norm over a cut tensor"],
    )
    def test_a_wrong_value_is_found_at_the_first_module_that_has_it(self, text, model, module):
        found = on_ranks(2, compared, plan_text(text), {model: True}, {"tp": 2})[0]
        assert not found["agrees"] and found["fault"] is None
        assert found["first_difference"] == f"layers.{module}"

    @pytest.mark.parametrize(
        ("items", "module"),
        [
            ('"embed": RowwiseParallel()', "embed"),
            (
                '"norm": SequenceParallel(), '
                '"head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())',
                "norm",
            ),
        ],
        ids=["embedding", "norm"],
    )
    def test_a_sequence_that_doubles_is_found_at_the_module_that_doubles_it(self, items, module):
        found = on_ranks(2, compared, plan_text(f"model: {{{items}}}"), {}, {"tp": 2})[0]
        assert found["first_difference"] == module
        [output] = found["outputs"]
        assert output["reason"] == "has shape [2, 32, 32], where [2, 16, 32] belongs"

    def test_a_part_of_the_logits_that_is_taken_for_all_of_them_is_found(self):
        found = on_ranks(2, compared, plan_text('model: {"head": ColwiseParallel()}'), {}, {"tp": 2})[0]
        assert found["first_difference"] == "head"
        assert found["outputs"][0]["reason"] == "has shape [2, 16, 16], where [2, 16, 32] belongs"

    def test_logits_that_are_a_dtensor_tell_that_they_are_a_part(self):
        text = plan_text('model: {"head": ColwiseParallel(use_local_output=False)}')
        assert on_ranks(2, compared, text, {}, {"tp": 2})[0]["agrees"]

    def test_a_norm_on_a_sequence_shard_without_summed_gradients_is_found(self):
        text = plan_text(ENDS, BLOCKS.replace('"first_norm": SequenceParallel(), ', ""))
        found = on_ranks(2, compared, text, {}, {"tp": 2})[0]
        assert all(c["agrees"] for c in found["outputs"])
        wrong = [c["name"] for c in found["gradients"] if not c["agrees"]]
        assert wrong == ["layers.0.first_norm.weight", "layers.1.first_norm.weight"]
        assert found["first_difference"] == "layers.1.first_norm"

    @pytest.mark.parametrize("items", [HEAD, f"{EMBED}, {HEAD}"], ids=["one side", "both sides"])
    def test_a_tie_that_is_parted_is_found_and_nothing_else(self, items):
        found = on_ranks(2, compared, plan_text(f"model: {{{items}}}"), {"tied": True}, {"tp": 2})[0]
        [wrong] = [c for c in (*found["outputs"], *found["gradients"]) if not c["agrees"]]
        assert wrong["name"] == "head.weight" and wrong["reason"].startswith("is not tied to `embed.weight` any more")
        assert found["first_difference"] == "head"

    def test_a_file_that_ties_again_gets_its_tie(self):
        text = plan_text(f"model: {{{EMBED}, {HEAD}}}") + "    model.head.weight = model.embed.weight\n"
        assert on_ranks(2, compared, text, {"tied": True}, {"tp": 2})[0]["agrees"]

    def test_a_forward_that_crashes_names_module_and_ranks(self):
        text = plan_text('layers: {"mlp.up": ColwiseParallel(), "mlp.down": ColwiseParallel()}')
        fault = on_ranks(2, compared, text, {}, {"tp": 2})[0]["fault"]
        assert fault["boundary"] == "layers.0.mlp.down"
        assert fault["message"].startswith("the sharded forward raised RuntimeError")


class TestDryRun:
    @pytest.mark.parametrize("text", [PLAIN, SEQUENCE], ids=["plain", "sequence"])
    def test_bytes_are_those_that_the_checks_count(self, text):
        tree = read_tree(Decoder(), "")
        for tp in (2, 4):
            found = _dry(text, tp=tp)["parameters"]["bytes"]
            [plan] = read_document("plan.py", text.encode()).plans
            counted = style_memory(plan, tree, Topology(tp=tp)).parameters
            assert found["total"] == sum(p.local for p in counted)
            assert found["unsharded"] == sum(p.whole for p in counted)

    def test_thousands_of_ranks_run_here(self):
        found = _dry(PLAIN, tp=4, dp=1024)
        assert {(r["axis"], r["collective"]) for r in found["gradients"]} == {("dp", "all-reduce")}
        assert found["gradients"][0]["bytes"] == found["parameters"]["bytes"]["total"]

    @RANKS
    @pytest.mark.parametrize("text", [PLAIN, SEQUENCE], ids=["plain", "sequence"])
    def test_what_is_counted_is_what_ranks_send(self, text):
        found = _dry(text, tp=2)
        for told in on_ranks(2, heard, text, {}, {"tp": 2}, 16):
            assert told == {"boundaries": found["boundaries"], "gradients": found["gradients"]}
        assert found["not_counted"] == []

    def test_what_a_module_sends_is_told_with_its_style(self):
        found = {b["module"]: b for b in _dry(PLAIN, tp=2)["boundaries"]}
        assert set(found) == {
            "embed", "head",
            *(f"layers.{i}.{m}" for i in (0, 1) for m in ("attention.o", "mlp.down", "mlp.up")),
            *(f"layers.{i}.attention.{m}" for i in (0, 1) for m in "qkv"),
        }  # fmt: skip
        down = found["layers.0.mlp.down"]
        assert (down["kind"], down["place"]) == ("RowwiseParallel", "plan.py:11")
        [row] = down["communication"]
        assert (row["direction"], row["collective"], row["count"], row["bytes"]) == ("forward", "all-reduce", 1, 1024)


def _dry(text: str, **sizes: int) -> dict[str, Any]:
    plan = frozen(text, Decoder(), **sizes, seq_len=16)
    asked = model_request(parse_spec(f"{FACTORY}:Decoder", HERE), (str(HERE),))
    ranks = sizes["tp"] * sizes.get("dp", 1)
    found: dict[str, Any] = dry_run(ApplyRequest(plan, asked, FACTORY, ranks, ApplyOptions(dry_run=True)))["dry_run"]
    return found


class TestFreezing:
    def test_calls_stand_in_the_order_of_the_file_with_a_call_for_each_block(self):
        plan = frozen(plan_text(f"layers: {{{MLP}}}", f"model: {{{HEAD}}}"), Decoder()).styles
        assert [c.root for c in plan.calls] == ["layers.0", "layers.1", ""]
        assert [i.modules for i in plan.calls[1].items] == [("layers.1.mlp.up",), ("layers.1.mlp.down",)]

    def test_arguments_become_those_of_torch(self):
        from hplint.apply.styles.torch_styles import style_of

        text = plan_text(
            'layers: {"mlp": PrepareModuleInput('
            "input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None), "
            'input_kwarg_layouts={"x": Partial()}, desired_input_kwarg_layouts={"x": Shard(0)}, use_local_output=True)}'
        )
        style = style_of(frozen(text, Decoder()).styles.calls[0].items[0])
        from torch.distributed.tensor import Partial, Replicate, Shard

        assert style.input_layouts == (Shard(1), None) and style.desired_input_layouts == (Replicate(), None)
        assert style.input_kwarg_layouts == {"x": Partial()} and style.desired_input_kwarg_layouts == {"x": Shard(0)}
        assert style.use_local_output is True

    @pytest.mark.parametrize(
        ("head", "style", "message"),
        [
            ("", "ColwiseParallel(output_layouts=some())", "`output_layouts` of `ColwiseParallel` at `norm` cannot be"),
            ("", "ColwiseParallel(**options)", "`ColwiseParallel` of `norm` gets arguments that cannot be read"),
            ("", "pick()", "the style of `norm` cannot be read without running the file"),
            (
                "class Own(ColwiseParallel):\n    pass\n",
                "Own()",
                "`Own`, which derives from ColwiseParallel and has code of its own, would have to be run",
            ),
            (
                "from torchao.float8.float8_tensor_parallel import Float8ColwiseParallel\n",
                "Float8ColwiseParallel()",
                "`Float8ColwiseParallel`, which derives from ColwiseParallel and has code of its own",
            ),
        ],
    )
    def test_what_would_have_to_be_run_to_be_known_is_refused_with_its_line(self, head, style, message):
        text = plan_text(f'model: {{"head": ColwiseParallel(), "norm": {style}}}')
        text = text.replace("def shard", f"{head}def shard")
        line = next(i for i, row in enumerate(text.splitlines(), 1) if '"norm"' in row)
        with pytest.raises(RequestError) as raised:
            frozen(text, Decoder())
        assert raised.value.message.startswith(f"plan.py:{line}: {message}")

    @pytest.mark.parametrize("axis", ["cp", "ep"])
    def test_axes_that_such_a_plan_says_nothing_about_are_refused(self, axis):
        with pytest.raises(RequestError, match=f"applied over tp, and the mesh has {axis}=2"):
            frozen(PLAIN, Decoder(), tp=2, **{axis: 2})

    def test_a_mesh_without_tp_is_refused(self):
        with pytest.raises(RequestError, match="cuts over tp, and the mesh has tp=1"):
            frozen(PLAIN, Decoder(), tp=1, dp=2)

    def test_what_is_left_out_and_what_depends_is_noted(self):
        text = plan_text(f"model: {{{HEAD}}}").replace(
            "def shard(model, mesh):\n",
            "def shard(model, mesh, sharded_norm: bool):\n"
            "    for block in model.layers:\n"
            "        fully_shard(block)\n"
            '    more = {"norm": SequenceParallel()} if sharded_norm else {}\n',
        )
        text = "from torch.distributed.fsdp import fully_shard\n" + text.replace("{" + HEAD, "{**more, " + HEAD)
        notes = " / ".join(frozen(text, Decoder(), tp=2, dp=2).styles.notes)
        assert "the model is replicated over dp=2" in notes
        assert "fully_shard (line 11) is left out" in notes


class TestPython:
    @RANKS
    def test_a_live_module_takes_a_plan_of_styles(self, tmp_path):
        plan = tmp_path / "plan.py"
        plan.write_text(PLAIN, encoding="utf-8")
        whole, gradient, names = on_ranks(2, _live, str(plan))[0]
        model = made({})
        model(torch.arange(16).view(2, 8)).sum().backward()
        assert torch.equal(whole, model.layers[0].mlp.up.weight)
        assert torch.allclose(gradient, model.layers[0].mlp.up.weight.grad, atol=1e-4)
        assert names["layers.0.mlp.up.weight"] == {"tp": "shard(0)"}


def _live(path: str) -> Any:
    from torch.distributed.device_mesh import init_device_mesh

    from hplint.apply import apply_plan, full_gradient, full_parameter, resolve_plan, sync_gradients

    model = made({})
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    applied = apply_plan(model, resolve_plan(path, model, mesh), mesh)
    model(torch.arange(16).view(2, 8)).sum().backward()
    sync_gradients(model)
    name = "layers.0.mlp.up.weight"
    laid = {n: {a: str(p) for a, p in layout.items()} for n, layout in applied.layouts.items()}
    return full_parameter(model, name), full_gradient(model, name), laid


class TestCommand:
    @RANKS
    def test_a_plan_is_applied_and_told_by_style(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("plan.py").write_text(PLAIN, encoding="utf-8")
        assert run(["plan.py", "--apply", "--model", f"{FACTORY}:Decoder", "--mesh", "tp=2,dp=1"]) == 0
        told = capsys.readouterr().out
        assert "on tp=2 (2 ranks, gloo).\n" in told
        assert "  RowwiseParallel: 5 modules\n  ColwiseParallel: 9 modules\n" in told or (
            "  ColwiseParallel: 9 modules\n  RowwiseParallel: 5 modules\n" in told
        )
        # Nothing but what every rank holds whole: norms and the biases of row-wise projections.
        assert f"{held(2)['replicated']:,} B" in told

    def test_a_plan_with_errors_is_refused_before_any_rank_starts(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("plan.py").write_text(PLAIN.replace('"mlp.up"', '"mlp.upp"'), encoding="utf-8")
        assert run(["plan.py", "--apply", "--verify", "--model", f"{FACTORY}:Decoder", "--mesh", "tp=2"]) == 1
        assert "HPL601" in capsys.readouterr().out

    def test_modes_and_other_appliers_are_refused(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("plan.py").write_text(PLAIN, encoding="utf-8")
        on = ["plan.py", "--apply", "--model", f"{FACTORY}:Decoder", "--mesh", "tp=2"]
        assert run([*on, "--mode", "validate"]) == 2
        assert "--mode validate is for plan_overrides" in capsys.readouterr().err
