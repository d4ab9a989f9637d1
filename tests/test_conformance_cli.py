"""Thirty of the runtime's verdicts through the command line, as a user gets them: exit code, json, resolved plan."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import FIXTURES
from test_conformance import JUDGED, cases, difference


def spread() -> list[dict[str, Any]]:
    """Thirty cases: one of every verdict, then accepted ones from the whole list."""
    first = {c["expect"].get("code"): c for c in reversed(cases())}
    accepted = [c for c in cases() if c["expect"]["accept"] and c["entries"]]
    return [*first.values(), *accepted[:: len(accepted) // 9]][:30]


def options(case: dict[str, Any]) -> list[str]:
    given = case["topology"]
    sizes = {"dp": 2} | {a: given[a] for a in ("cp", "tp") if given[a] > 1}
    flags = [f"--{'' if given[k] else 'no-'}{k.replace('_', '-')}" for k in ("sequence_parallel", "loss_parallel")]
    return [
        "--model", f"tree:{FIXTURES / 'trees' / case['model']}.json", "--src", str(FIXTURES / "conformance"),
        "--mesh", ",".join(f"{a}={n}" for a, n in sizes.items()), "--ep", str(given["ep"]), *flags,
        *([] if given["derive"] else ["--no-derive"]),
    ]  # fmt: skip


def hplint(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hplint", *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("case", spread(), ids=lambda c: c["id"])
def test_the_command_line_gives_the_verdict_of_the_runtime(case: dict[str, Any], tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(yaml.safe_dump({"plan_overrides": case["entries"]}, sort_keys=False), encoding="utf-8")
    result = hplint(str(plan), *options(case), "--output-format", "json")
    report = json.loads(result.stdout)
    codes = {f["code"] for f in report["findings"]}
    expect = case["expect"]
    assert result.returncode == any(f["severity"] != "info" for f in report["findings"])
    if not expect["accept"]:
        assert expect["code"] in codes and result.returncode == 1
        return
    assert not [f for f in report["findings"] if f["severity"] == "error" and f["code"] in JUDGED]
    assert codes.issuperset(expect["warnings"])
    shown = json.loads(hplint("plan", "show", str(plan), *options(case), "--format", "json").stdout)
    assert difference(expect["plan"], shown["boundaries"]) is None


def test_thirty_cases_are_run() -> None:
    assert len(spread()) == 30
