"""Real plan files against models of their architecture at real depth: the findings are those of the golden file, which
says of each why it is right. The files themselves are no part of the project: without them these tests are skipped.

``--update-golden`` rewrites the golden file; the reasons of findings that stay are kept, new ones have to be written.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from hplint.config.config import Config
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import Request, Run
from hplint.lint.session import lint

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
GOLDEN = Path(__file__).parent / "golden" / "corpus" / "findings.txt"
NEW = "?"

# What the adapter of this model would register; the derivation has no rules for it by itself.
V41 = {
    "deepseek_v41": {
        "colwise": ["self_attn.q_b_proj", "self_attn.o_a_proj"],
        "rowwise": ["self_attn.o_b_proj"],
        "replicated": ["self_attn.q_a_proj", "self_attn.kv_proj", "self_attn.sinks", "compressor."],
    }
}


class Pair(NamedTuple):
    """One file and a tree of fixtures/trees to check it against."""

    file: str
    tree: str


PAIRS = [
    Pair(*line.split())
    for line in """
    deepseekv3__train_codegen_deepseekv3                      deepseek_v3_671b
    distributed__perf_replacement                             llama3_8b
    distributed__plan_overrides_demo                          llama3_8b_aux
    dryrun__ep_explicit                                       qwen3_moe_shared
    dryrun__ep_explicit                                       qwen2_moe_a2_7b
    qwen3_8__train                                            qwen3_5_27b
    qwen3_moe_tp_ep_cp__train_tp2_ep2_cp4_hybrid              qwen3_moe_30b_a3b
    recipes__custom_ep_moe                                    dispatching_moe_8x7b
    recipes__llama_tp_cp                                      llama3_8b
    recipes__llama_tp_cp                                      qwen3_8b
    recipes__qwen3moe_tp_ep                                   qwen3_moe_30b_a3b
    training_demo__cp_configs__async_colossal                 qwen3_moe_30b_a3b
    training_demo__cp_configs__sync_load_balance              qwen3_moe_30b_a3b
    training_demo__deepseek_v41__train_deepseek_v41_online    deepseek_v41
    training_demo__jt_deepseek_v3__jt_deepseek_v3             jt_deepseek_v3
    training_demo__qwen3_moe__train_parallel_offline          qwen3_moe_30b_a3b
    training_demo__train_base                                 qwen3_moe_30b_dense_first
    training_demo__train_base                                 qwen3_moe_30b_a3b
    training_demo__train_kimi_vlm                             kimi_k2_6
    """.strip().splitlines()
]
WITHOUT_PLAN = "recipes__llama_tp"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")


def path_of(file: str) -> Path:
    return CORPUS / f"examples__{file}.yaml"


def check(file: str, tree: str, **more: object) -> Run:
    model = f"tree:{ROOT / 'fixtures' / 'trees' / f'{tree}.json'}"
    config = Config(families=V41) if tree == "deepseek_v41" else Config()
    return lint(Request((str(path_of(file)),), model=model, config=config, use_cache=False, **more))  # type: ignore[arg-type]


def told(found: Diagnostic) -> str:
    line, column = found.source.position(found.span[0])
    return f"{line}:{column} {found.severity} {found.code} {found.message}"


def read_golden() -> dict[Pair, dict[str, str]]:
    """Pair -> finding -> why it is right."""
    golden: dict[Pair, dict[str, str]] = {}
    finding = ""
    for line in GOLDEN.read_text(encoding="utf-8").splitlines() if GOLDEN.exists() else ():
        if line.startswith("== "):
            reasons = golden.setdefault(Pair(*line[3:].split()), {})
        elif line.startswith("    why: "):
            reasons[finding] = line.removeprefix("    why: ")
        elif line and not line.startswith("#"):
            finding = line
    return golden


def test_the_findings_on_real_files_are_those_of_the_golden_file(request: pytest.FixtureRequest) -> None:
    golden = read_golden()
    found = {pair: [told(d) for d in check(*pair).diagnostics] for pair in PAIRS}
    if request.config.getoption("--update-golden"):
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(HEADER + "".join(block(p, f, golden.get(p, {})) for p, f in found.items()), encoding="utf-8")
        golden = read_golden()
    assert found == {pair: list(reasons) for pair, reasons in golden.items()}


def test_every_finding_on_a_real_file_has_a_reason() -> None:
    unexplained = [(p.file, f) for p, reasons in read_golden().items() for f, why in reasons.items() if why == NEW]
    assert not unexplained


HEADER = """\
# Findings on real plan files, each with the reason why it is right. R and S numbers are explained in CONTRIBUTING.
"""


def block(pair: Pair, findings: list[str], reasons: dict[str, str]) -> str:
    lines = [f"{f}\n    why: {reasons.get(f, NEW)}\n" for f in findings]
    return f"\n== {pair.file} {pair.tree}\n" + "".join(lines)


def test_every_real_file_is_checked() -> None:
    files = {p.stem.removeprefix("examples__") for p in CORPUS.glob("*.yaml")}
    assert files == {p.file for p in PAIRS} | {WITHOUT_PLAN}


def test_a_file_whose_overrides_are_all_comments_is_said_to_hold_no_plan() -> None:
    assert check(WITHOUT_PLAN, "llama3_8b").without_plan == (str(path_of(WITHOUT_PLAN)),)


def test_a_folder_of_real_files_without_their_models_has_no_errors() -> None:
    run = lint(Request((str(CORPUS),), config=Config(), use_cache=False))
    assert run.files == len({p.file for p in PAIRS})
    assert "error" not in {d.severity for d in run.diagnostics}


@pytest.mark.parametrize("tree", ["toy", "qwen2_moe", "deepseek_v3", "gemma2"])
def test_no_real_file_breaks_the_check_of_another_model(tree: str) -> None:
    for file in {p.file for p in PAIRS}:
        run = check(file, tree, meshes=({"dp": 2, "tp": 3}, {"dp": 2, "cp": 2, "tp": 2}), ep=4)
        assert all(0 <= d.span.start <= d.span.end <= len(d.source.text) for d in run.diagnostics)
