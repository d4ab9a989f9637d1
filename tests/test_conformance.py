"""The verdicts of the real runtime over 972 random plans (fixtures/conformance), and what hplint says of them."""

import json
from functools import cache
from typing import Any

import pytest
import yaml
from checking import FIXTURES, check_text, fixture_tree, mesh_topology

from hplint.resolve.show import to_json
from hplint.resolve.topology import Topology

JUDGED = frozenset(
    """
    HPL007 HPL006 HPL004 HPL303 HPL003 HPL203 HPL407 HPL318
    HPL202 HPL101 HPL201 HPL103 HPL301 HPL302 HPL802 HPL309 HPL308 HPL310 HPL304 HPL306 HPL205 HPL206 HPL307
    HPL403 HPL401 HPL404 HPL405 HPL504 HPL502 HPL503 HPL507 HPL406 HPL313 HPL402 HPL508
""".split()  # noqa: SIM905 - in the order of the runtime
)


@cache
def cases() -> list[dict[str, Any]]:
    lines = (FIXTURES / "conformance" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def topology_of(case: dict[str, Any]) -> Topology:
    """The judge's mesh: dp=2, with cp and tp where above 1, cp before tp."""
    given = case["topology"]
    sizes = {"dp": 2} | {a: given[a] for a in ("cp", "tp") if given[a] > 1}
    flags = {k: given[k] for k in ("ep", "sequence_parallel", "loss_parallel", "derive")}
    return mesh_topology(sizes, **flags)


def complaint(case: dict[str, Any]) -> str | None:
    """What is wrong with hplint's verdict on a case; None when it is right."""
    tree, topology = fixture_tree(case["model"]), topology_of(case)
    text = yaml.safe_dump({"plan_overrides": case["entries"]}, sort_keys=False)
    found, resolved = check_text(text, topology, tree)
    codes, expect = {d.code for d in found}, case["expect"]
    if not expect["accept"]:
        return None if expect["code"] in codes else f"{expect['code']} not in {sorted(codes)}"
    errors = [f"{d.code} {d.message}" for d in found if d.severity == "error" and d.code in JUDGED]
    if errors:
        return f"false errors: {errors}"
    if missing := set(expect["warnings"]) - codes:
        return f"missing warnings: {sorted(missing)}"
    assert resolved[0] is not None
    return difference(expect["plan"], to_json(resolved[0], tree, topology)["boundaries"])


def difference(expected: dict[str, Any], actual: dict[str, Any]) -> str | None:
    if expected.keys() != actual.keys():
        return f"boundaries differ: {sorted(expected.keys() ^ actual.keys())}"
    for fqn, fields in expected.items():
        for name, value in fields.items():
            if actual[fqn][name] != value:
                return f"{fqn}.{name}: expected {value}, got {actual[fqn][name]}"
    return None


def test_every_verdict_of_the_runtime_is_hplints_verdict() -> None:
    wrong = {c["id"]: text for c in cases() if (text := complaint(c))}
    assert len(cases()) == 972
    assert not wrong, f"{len(wrong)} wrong, such as {dict(list(wrong.items())[:5])}"


@pytest.mark.parametrize("code", sorted({c["expect"].get("code") or "accepted" for c in cases()}))
def test_verdicts_by_code(code: str) -> None:
    of_code = [c for c in cases() if (c["expect"].get("code") or "accepted") == code]
    wrong = {c["id"]: text for c in of_code if (text := complaint(c))}
    assert not wrong
