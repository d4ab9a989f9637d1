"""What people are told of a dry run."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from hplint.report.apply_report import apply_report
from hplint.report.style import Style

GOLDEN = Path(__file__).parent / "golden"
RESULT: dict[str, Any] = json.loads((GOLDEN / "dry_run.json").read_text(encoding="utf-8"))


def told(result: dict[str, Any], **style: Any) -> str:
    return "".join(f"{line}\n" for line in apply_report(result, Style(**style)))


def changed(**values: Any) -> dict[str, Any]:
    result = copy.deepcopy(RESULT)
    result["dry_run"].update(values)
    return result


def test_the_whole_report(request: pytest.FixtureRequest) -> None:
    text = told(RESULT)
    if request.config.getoption("--update-golden"):
        (GOLDEN / "dry_run.txt").write_text(text, encoding="utf-8", newline="\n")
    assert text == (GOLDEN / "dry_run.txt").read_text(encoding="utf-8")


def test_colours_change_nothing_but_colours() -> None:
    import re

    assert re.sub(r"\x1b\[[\d;]*m", "", told(RESULT, color=True)) == told(RESULT)


def test_what_was_given_is_not_called_a_default() -> None:
    lines = told(changed(batch=3, seq_len=8192, batch_is_given=True, seq_len_is_given=True)).splitlines()
    assert lines[1] == (
        "One step of 3 sequences of 8,192 tokens on each data-parallel rank, parameters and activations float32."
    )


def test_outputs_of_another_dtype_are_told() -> None:
    assert ", outputs float32." in told(changed(dtype="bfloat16", output_dtypes=["bfloat16", "float32"]))


def test_a_step_that_cannot_run_leaves_the_parameters() -> None:
    reason = {"function": None, "modules": [], "reason": "RuntimeError: no data", "instead": "nothing"}
    text = told(changed(boundaries=[], totals=[], gradients=[], not_counted=[reason]))
    assert "Parameters of a rank" in text and "Each boundary" not in text
    assert (
        "not counted: the forward cannot run without values (RuntimeError: no data); nothing is counted but "
        "parameters\n"
    ) in text


def test_equal_boundaries_stand_once_and_control_characters_are_shown() -> None:
    row = {"name": "x\x1b", "direction": "forward", "collective": "all-reduce", "axis": "tp", "count": 2, "bytes": 8}
    row["estimated"] = False
    boundaries = [
        {"module": f"layers.{i}.mlp", "kind": "mlp", "place": "", "communication": [row]} for i in (0, 1, 2, 5)
    ]
    text = told(changed(boundaries=boundaries))
    assert "layers.{0-2,5}.mlp  x4\n  x" in text and "\x1b" not in text
    assert "Every rank holds and sends as much." in text
