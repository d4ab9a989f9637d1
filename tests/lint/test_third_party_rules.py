"""Rules of other packages: found through entry points, checked when they are read, and reported like hplint's own."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hplint.errors import HplintError, RequestError
from hplint.lint.registry import Registry
from hplint.lint.request import Request
from hplint.lint.rule_packages import search_state
from hplint.lint.session import lint

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "fixtures" / "third_party_rules"
PLAN = "- match: model.layers.0.mlp\n  out_dst: auto\n"
RULE = """\
from hplint.rule import Finding, on_plan

RULE = on_plan("{code}", "{name}", "{severity}")


def check(case):
    {body}
    return
    yield
"""


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Put a package of one rule onto the import path, with the metadata that an installer writes."""
    before = set(sys.modules)

    def put(
        package: str, stem: str = "zed101_never", code: str = "ZED101", name: str = "never", severity: str = "warning",
        body: str = "return", text: str | None = None, point: str | None = None,
    ) -> Path:  # fmt: skip
        folder = tmp_path / f"site-{package}"
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").touch()
        rule = RULE.format(code=code, name=name, severity=severity, body=body) if text is None else text
        (folder / package / f"{stem}.py").write_text(rule, encoding="utf-8")
        metadata = folder / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}-dist\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[hplint.rules]\nx = {point or package}\n")
        monkeypatch.syspath_prepend(str(folder))
        return folder

    yield put
    for module in set(sys.modules) - before:
        if module.startswith("zed_"):
            del sys.modules[module]


def run(tmp_path: Path, **more: object) -> list[str]:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    return [d.code for d in lint(Request((str(plan),), use_cache=False, **more)).diagnostics]  # type: ignore[arg-type]


def test_a_rule_of_another_package_runs_by_default_and_can_be_selected_and_ignored(
    install: Callable[..., Path], tmp_path: Path
) -> None:
    install("zed_runs", body='yield Finding(case.plan.anchor, "found")')
    assert run(tmp_path) == ["ZED101"]
    assert run(tmp_path, ignore=("HPL2",)) == ["ZED101"]
    assert run(tmp_path, select=("HPL",)) == []
    assert run(tmp_path, select=("ZED",)) == run(tmp_path, select=("never",)) == ["ZED101"]
    assert run(tmp_path, ignore=("ZED101",)) == []


def test_the_index_answers_until_something_is_installed_or_removed(
    install: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "index"
    assert "ZED101" not in Registry(index_folder=folder).rules
    place = install("zed_index")
    assert "ZED101" in Registry(index_folder=folder).rules
    monkeypatch.setattr("hplint.lint.registry.find_packages", lambda: pytest.fail("the index was not used"))
    assert "ZED101" in Registry(index_folder=folder).rules
    monkeypatch.undo()
    sys.path.insert(0, str(place))
    try:
        shutil.rmtree(place / "zed_index-1.0.dist-info")
        assert "ZED101" not in Registry(index_folder=folder).rules
    finally:
        sys.path.remove(str(place))


def test_files_that_come_and_go_beside_installed_packages_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = search_state()
    (tmp_path / "unrelated.py").touch()
    assert search_state() == before
    (tmp_path / "some-1.0.dist-info").mkdir()
    assert search_state() != before


@pytest.mark.parametrize(
    ("slip", "reason"),
    [
        ({"code": "HPL950", "stem": "hpl950_never"}, "codes that begin with HPL are hplint's own"),
        ({"name": "unknown-module", "stem": "zed101_unknown_module"}, "the name unknown-module belongs to `hplint_"),
        ({"stem": "zed102_never"}, "a rule ZED101 never belongs into zed101_never.py"),
        ({"severity": "fatal"}, "`fatal` is no severity; these are error, warning, info"),
        ({"text": "import nowhere_at_all"}, "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ({"text": "RULE = 3"}, "AttributeError: "),
        ({"text": "def check(:"}, "SyntaxError: "),
        ({"text": "class RULE:\n    code, name, severity, listens = 'Z', 'n', 'error', ()"}, "it needs a RULE"),
        ({"point": "zed_nowhere"}, "there is no such package"),
        ({"point": "json.decoder"}, "it is a module, not a package of rules"),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_used_is_a_wrong_request_and_names_its_distribution(
    install: Callable[..., Path], slip: dict[str, str], reason: str
) -> None:
    install("zed_slip", **slip)
    with pytest.raises(RequestError) as caught:
        Registry()
    assert reason in caught.value.message and "cannot be loaded" in caught.value.message
    assert "`zed_slip-dist`" in caught.value.hint and caught.value.exit_code == 2


def test_two_packages_with_one_code_clash(install: Callable[..., Path]) -> None:
    install("zed_one")
    install("zed_two", name="other", stem="zed101_other")
    with pytest.raises(RequestError, match=r"the code ZED101 belongs to `zed_one\.zed101_never`"):
        Registry()


@pytest.mark.parametrize(
    ("body", "reason"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("yield 3", "a rule yields findings, not int")],
)
def test_a_rule_that_fails_while_it_runs_is_named(
    install: Callable[..., Path], tmp_path: Path, body: str, reason: str
) -> None:
    install("zed_fails", body=body)
    with pytest.raises(HplintError) as caught:
        run(tmp_path)
    assert caught.value.message.startswith("the rule ZED101 (zed_fails.zed101_never) failed: ")
    assert reason in caught.value.message and "--ignore ZED101" in caught.value.hint and caught.value.exit_code == 3


@pytest.mark.skipif(importlib.util.find_spec("setuptools") is None, reason="building the example needs setuptools")
def test_the_example_package_is_found_once_it_is_installed(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(EXAMPLE, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(source)], check=True, capture_output=True, timeout=120)
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}

    def hplint(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "hplint", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=120, check=False)

    tree = f"tree:{ROOT / 'fixtures' / 'trees' / 'toy.json'}"
    arguments = (str(plan), "--model", tree, "--mesh", "dp=2,tp=2", "--output-format", "json")
    for _ in range(2):  # Once looked up, once from the index.
        done = hplint(*arguments)
        assert done.returncode == 1, done.stderr
        (finding,) = json.loads(done.stdout)["findings"]
        assert (finding["code"], finding["severity"], finding["line"], finding["column"]) == (
            "ACME101",
            "warning",
            1,
            10,
        )
        assert [f["safety"] for f in finding["fixes"]] == ["unsafe"]
    assert hplint("explain", "acme101").stdout.startswith("# single-layer (ACME101)\n")
    assert "ACME101  single-layer" in hplint("rules").stdout
    suppressed = PLAN.replace("mlp\n", "mlp  # hplint: ignore[ACME101] -- the first layer is special\n")
    plan.write_text(suppressed, encoding="utf-8")
    assert json.loads(hplint(*arguments).stdout)["findings"] == []
    plan.write_text(PLAN.replace("mlp\n", "mlp  # hplint: ignore[ACME102]\n"), encoding="utf-8")
    found = [f for f in json.loads(hplint(*arguments).stdout)["findings"] if f["code"] != "ACME101"]
    assert [f["code"] for f in found] == ["HPL902"] and "ACME101" in found[0]["message"] + found[0]["help"]
