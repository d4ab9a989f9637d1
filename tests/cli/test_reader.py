"""`--reader vllm`: what vLLM reads otherwise is told, on the command line and by the configuration."""

from pathlib import Path
from typing import Any

import pytest
from checking import FIXTURES

MODEL = str(FIXTURES / "trees" / "qwen3_moe_30b_dense_first.json")
PLAN = """\
class Qwen3MoeConfig(PreTrainedConfig):
    base_model_tp_plan = {"layers.*.mlp.gate": "replicate", "layers.*.mlp.gate_proj": "colwise"}
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    (tmp_path / "plan.py").write_text(PLAN)
    return str(tmp_path / "plan.py")


def test_the_other_reading_is_told_when_asked_for(hplint: Any, plan: str) -> None:
    told = hplint(plan, "--model", MODEL, "--reader", "vllm", "--output-format", "concise", "--select", "HPL703")
    assert told.code == 1
    assert ":2:27: HPL703 vLLM reads `layers.*.mlp.gate`" in told.out
    assert hplint(plan, "--model", MODEL, "--select", "HPL703").code == 0


def test_the_configuration_may_ask_for_it_and_the_command_line_comes_first(hplint: Any, plan: str) -> None:
    Path(plan).with_name("hplint.toml").write_text('reader = "vllm"\n')
    assert hplint(plan, "--model", MODEL, "--select", "HPL703").code == 1
    assert hplint(plan, "--model", MODEL, "--select", "HPL703", "--reader", "transformers").code == 0


def test_another_reader_is_a_wrong_request_with_the_ones_that_there_are(hplint: Any, plan: str) -> None:
    told = hplint(plan, "--reader", "vlm")
    assert told.code == 2
    assert "`transformers`, `vllm`" in told.err
    Path(plan).with_name("hplint.toml").write_text('reader = "vlm"\n')
    told = hplint(plan)
    assert told.code == 2
    assert "`transformers` or `vllm`" in told.err
