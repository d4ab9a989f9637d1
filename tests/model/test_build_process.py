"""The child process: real builds, and children that hang, die, write or eat memory.

Most of these children get a stand-in for torch that misbehaves on import: the real one takes seconds.
"""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from hplint.model.build import build, package_root
from hplint.model.failure import ModelError
from hplint.model.spec import parse_spec
from hplint.model.store import load_tree

ROOT = Path(__file__).parent.parent.parent
MODELS = ROOT / "fixtures" / "models"


@pytest.fixture
def torch_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Puts a module named torch with that text before the real one, in children alone."""

    def write(text: str) -> None:
        (tmp_path / "fake" / "torch").mkdir(parents=True)
        (tmp_path / "fake" / "torch" / "__init__.py").write_text(f"import os, sys, time\n{text}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))

    return write


def failure(text: str = "py:tiny.py:Layers", **options) -> ModelError:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelError) as caught:
        build(parse_spec(text, MODELS), **options)
    assert "\n" not in caught.value.reason
    return caught.value


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_torch_that_is_missing_is_named(torch_that) -> None:  # type: ignore[no-untyped-def]
    torch_that("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    error = failure()
    assert error.reason == "torch is not installed here" and sys.executable in error.hint


def test_torch_that_cannot_be_imported_says_why(torch_that) -> None:  # type: ignore[no-untyped-def]
    torch_that("raise OSError('libcudart.so.12: cannot open shared object file')")
    assert failure().reason == "torch cannot be imported: OSError: libcudart.so.12: cannot open shared object file"


def test_a_child_that_is_killed_is_told_with_the_signal(torch_that) -> None:  # type: ignore[no-untyped-def]
    torch_that("print('allocating', flush=True); os.kill(os.getpid(), 9)")
    assert failure().reason == (
        "the process that builds it was killed by signal 9 (SIGKILL), as it is when memory runs out; "
        "the last line that it wrote: `allocating`"
    )


def test_a_child_that_ends_early_is_told_with_its_status(torch_that) -> None:  # type: ignore[no-untyped-def]
    torch_that("os._exit(7)")
    assert failure().reason == "the process that builds it ended with status 7 before it was done"


def test_a_child_that_takes_too_long_is_ended_with_all_that_it_started(torch_that, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pids = tmp_path / "pids"
    torch_that(
        "import subprocess\n"
        "other = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{other.pid}}')\n"
        "time.sleep(60)"
    )
    error = failure(timeout=2)
    assert error.reason == "the build took longer than 2 seconds and was ended"
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_a_child_that_takes_too_much_memory_is_ended(torch_that) -> None:  # type: ignore[no-untyped-def]
    torch_that("data = bytearray(300 * 2**20); data[::4096] = b'x' * len(data[::4096]); time.sleep(20)")
    error = failure(memory=200 * 2**20)
    assert error.reason == "the build took more than 0.2 GiB of memory" and "meta" in error.hint


def test_an_interrupt_ends_the_child(torch_that, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pid = tmp_path / "pid"
    torch_that(f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)")

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(parse_spec("py:tiny.py:Layers", MODELS), progress=interrupt)
    assert gone(int(pid.read_text()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_parent_that_is_killed_leaves_no_child_behind(torch_that, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    import subprocess

    pid = tmp_path / "pid"
    torch_that(f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    code = (
        "from hplint.model.build import build; from hplint.model.spec import parse_spec\n"
        f"build(parse_spec('py:tiny.py:Layers', {str(MODELS)!r}))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ["PYTHONPATH"]))}
    parent = subprocess.Popen([sys.executable, "-c", code], env=env)
    for _ in range(200):
        if pid.exists() and pid.read_text():
            break
        time.sleep(0.05)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert gone(int(pid.read_text()))


def test_a_slow_build_is_announced_once(torch_that) -> None:  # type: ignore[no-untyped-def]
    torch_that("time.sleep(1.3); os._exit(1)")
    lines: list[str] = []
    failure(progress=lines.append)
    assert lines == ["building the model py:tiny.py:Layers on the meta device; the result is kept for the next time"]


def test_a_folder_with_a_file_named_like_a_standard_module_does_no_harm(tmp_path: Path, torch_that) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    (tmp_path / "net.py").write_text("")
    torch_that("os._exit(0 if 'json' in sys.modules and 'here' not in sys.modules else 5)")
    with pytest.raises(ModelError, match="ended with status 0"):
        build(parse_spec("py:net.py:make", tmp_path))


def test_the_child_is_offline(torch_that) -> None:  # type: ignore[no-untyped-def]
    torch_that("print(os.environ['HF_HUB_OFFLINE'], os.environ['TRANSFORMERS_OFFLINE'], flush=True); os._exit(1)")
    assert failure().reason.endswith("the last line that it wrote: `1 1`")


def test_a_file_in_a_package_is_imported_from_the_folder_above_it() -> None:
    assert package_root(str(MODELS / "package" / "model.py")) == (str(MODELS), "package.model")
    assert package_root(str(MODELS / "package" / "__init__.py")) == (str(MODELS), "package")
    assert package_root(str(MODELS / "tiny.py")) == (str(MODELS), "tiny")


# -- with the real torch -----------------------------------------------------------------------------------------------


def test_a_noisy_factory_does_not_disturb_its_build() -> None:
    pytest.importorskip("torch")
    built = build(parse_spec("py:failing.py:talks", MODELS))
    assert built.tree.class_name == "Linear"
    assert list(built.files) == [str(MODELS / "failing.py")]


@pytest.mark.parametrize("factory", ["dials", "looks_up", "hub"])
def test_a_factory_that_needs_the_network_is_told_so(factory: str) -> None:
    pytest.importorskip("transformers")
    said = failure(f"py:failing.py:{factory}").reason
    assert f"`{factory}` needs the network, which hplint never uses" in said and "(failing.py:" in said


def test_files_that_a_factory_reads_and_imports_decide_whether_its_tree_is_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    import shutil

    monkeypatch.setenv("HPLINT_CACHE_DIR", str(tmp_path / "cache"))
    shutil.copytree(MODELS / "package", tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    spec = parse_spec("py:package.model:make", tmp_path)
    assert load_tree(spec, src=(".",)).parameters["0.linear.weight"].shape == (6, 6)
    (tmp_path / "package" / "sizes.json").write_text('{"size": 7}')
    assert load_tree(spec, src=(".",)).parameters["0.linear.weight"].shape == (7, 7)
    text = (tmp_path / "package" / "parts.py").read_text()
    (tmp_path / "package" / "parts.py").write_text(text.replace("self.linear", "self.other"))
    assert "0.other.weight" in load_tree(spec, src=(".",)).parameters
    monkeypatch.setattr("hplint.model.store.build", None)
    assert "0.other.weight" in load_tree(spec, src=(".",)).parameters


def test_a_configuration_is_built_in_a_child_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("HPLINT_CACHE_DIR", str(tmp_path))
    spec = parse_spec("hf:fixtures/conformance/models/llama", ROOT)
    first = load_tree(spec)
    monkeypatch.setattr("hplint.model.store.build", None)
    assert load_tree(spec).to_json() == first.to_json()
    assert first.class_name == "LlamaForCausalLM" and first.spec == spec.text
