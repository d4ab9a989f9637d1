from pathlib import Path

import pytest

from hplint.config.config import Config
from hplint.config.load import find_config, load_config, read_config
from hplint.errors import ConfigError

FULL = """\
[tool.hplint]
model = "hf:configs/llama"
mesh = ["dp=2,tp=4", "tp=8"]
ep = 2
sequence-parallel = true
loss-parallel = false
derive = false
seq-len = 4096
src = ["kernels", "more"]
select = "HPL1"
ignore = ["HPL204", "mixed-glob"]
extend-select = ["HPL2"]
planner = "hyper_parallel"
boundaries = "boundaries.json"
build-timeout = 60

[tool.hplint.families.mine]
colwise = ["attn"]

[[tool.hplint.plans]]
files = "plans/*.yaml"
model = "hf:configs/qwen"
mesh = "tp=2"

[[tool.hplint.plans]]
files = ["plans/big*.yaml", "other.py"]
mesh = "tp=16"
sequence-parallel = false
src = "big"
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def complaint(folder: Path, text: str, name: str = "hplint.toml") -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read_config(write(folder, name, text))
    return caught.value


def test_every_key_arrives_with_paths_counted_from_the_file(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, "pyproject.toml", FULL))
    assert config.base == str(tmp_path)
    assert config.defaults.model == "hf:configs/llama"
    assert config.defaults.mesh == ({"dp": 2, "tp": 4}, {"tp": 8})
    assert (config.defaults.ep, config.seq_len, config.build_timeout) == (2, 4096, 60.0)
    assert (config.defaults.sequence_parallel, config.defaults.loss_parallel, config.defaults.derive) == (
        True,
        False,
        False,
    )
    assert config.defaults.src == (str(tmp_path / "kernels"), str(tmp_path / "more"))
    assert (config.select, config.ignore, config.extend_select) == (("HPL1",), ("HPL204", "mixed-glob"), ("HPL2",))
    assert (config.planner, config.boundaries) == ("hyper_parallel", str(tmp_path / "boundaries.json"))
    assert config.families == {"mine": {"colwise": ["attn"]}}


def test_a_later_plans_table_wins_key_by_key(tmp_path: Path) -> None:
    config = read_config(write(tmp_path, "pyproject.toml", FULL))
    small = config.settings_for(str(tmp_path / "plans" / "small.yaml"))
    assert (small.model, small.mesh, small.sequence_parallel) == ("hf:configs/qwen", ({"tp": 2},), True)
    big = config.settings_for(str(tmp_path / "plans" / "big_one.yaml"))
    assert (big.model, big.mesh, big.sequence_parallel) == ("hf:configs/qwen", ({"tp": 16},), False)
    assert big.src == (str(tmp_path / "big"),)
    assert config.settings_for(str(tmp_path / "unrelated.yaml")) == config.defaults


def test_plans_match_paths_given_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = read_config(write(tmp_path, "pyproject.toml", FULL))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert config.settings_for("../plans/small.yaml").model == "hf:configs/qwen"


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "[tool.hplint]\nep = 1\n")
    near = write(tmp_path, "a/hplint.toml", "ep = 2\n")
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert find_config(tmp_path / "a" / "b" / "c") == near
    assert load_config(tmp_path / "a" / "b").defaults.ep == 2
    assert load_config(tmp_path).defaults.ep == 1


def test_a_pyproject_about_other_things_is_passed_over(tmp_path: Path) -> None:
    above = write(tmp_path, "hplint.toml", "ep = 3\n")
    write(tmp_path, "a/pyproject.toml", "[project]\nname = 'other'\ndependencies = ['hplint']\n")
    write(tmp_path, "b/pyproject.toml", "this is not TOML at all")
    assert find_config(tmp_path / "a") == above
    assert find_config(tmp_path / "b") == above


def test_hplint_toml_comes_before_pyproject(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "[tool.hplint]\nep = 1\n")
    write(tmp_path, "hplint.toml", "")
    assert load_config(tmp_path) == Config(path=str(tmp_path / "hplint.toml"), base=str(tmp_path))


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("ep = 2\nmodle = 'x'\n", 2, "unknown key `modle`", "`model`"),
        ("sequence_parallel = true\n", 1, "unknown key `sequence_parallel`", "`sequence-parallel`"),
        ("zzzzzz = true\n", 1, "unknown key `zzzzzz`", "known are"),
        ("files = 'x'\n", 1, "unknown key `files`", ""),
        ("ep = '2'\n", 1, '`ep` must be a whole number of at least 1, not `"2"`', ""),
        ("ep = true\n", 1, "`ep` must be a whole number of at least 1, not `true`", ""),
        ("ep = 0\n", 1, "`ep` must be a whole number", ""),
        ("\n\nderive = 1\n", 3, "`derive` must be true or false, not `1`", ""),
        ("model = 3\n", 1, "`model` must be a string", ""),
        ("mesh = 'tpp=2'\n", 1, "there is no axis `tpp`", "`tp`"),
        ("mesh = 4\n", 1, "`mesh` must be a mesh such as", ""),
        ("mesh = {tp = 4}\n", 1, "`mesh` must be a mesh such as", ""),
        ("select = [1]\n", 1, "`select` must be a string or a list of strings", ""),
        ("src = ['a', '']\n", 1, "`src` must be a folder or a list of folders", ""),
        ("planner = 'hyperparallel'\n", 1, "`planner` must be `built-in` or `hyper_parallel`", "`hyper_parallel`"),
        ("planner = 3\n", 1, "`planner` must be `built-in` or `hyper_parallel`, not `3`", ""),
        ("build-timeout = 0\n", 1, "`build-timeout` must be a number of seconds above 0", ""),
        ("build-timeout = nan\n", 1, "`build-timeout` must be a number of seconds above 0", ""),
        ("families = []\n", 1, "`families` must be a table", ""),
        ("plans = {}\n", 1, "`plans` must be an array of tables", ""),
        ("[[plans]]\nmodel = 'x'\n", 1, "a `plans` table needs `files`", "files ="),
        ("[[plans]]\nfiles = 'a'\n[[plans]]\nfiles = 'b'\nmesh = 'tp'\n", 5, "`tp` is not axis=size", ""),
        ("[[plans]]\nfiles = 'a'\nselect = 'HPL1'\n", 3, "unknown key `select`", ""),
        ("[[plans]]\nfiles = 3\n", 2, "`files` must be a string or a list of strings", ""),
        ("ep = \n", 1, "not TOML: invalid value", ""),
        ("ep = 1\nep = 2\n", 2, "not TOML: cannot overwrite a value", ""),
        ("ep = [1,\n", 1, "not TOML", ""),
        ("[tool.hplint]\nep = 1\n", None, "`[tool.hplint]` belongs into pyproject.toml", "at the top"),
        ("a = " + "[" * 5000 + "]" * 5000 + "\n", None, "not TOML: nested too deep", ""),
    ],
)
def test_a_wrong_file_is_told_with_its_line(
    tmp_path: Path, text: str, line: int | None, message: str, hint: str
) -> None:
    error = complaint(tmp_path, text)
    assert message in error.message
    assert error.line == line
    assert hint in error.hint
    assert error.exit_code == 2
    assert error.message.startswith(str(tmp_path / "hplint.toml"))


def test_the_line_is_that_of_the_right_section(tmp_path: Path) -> None:
    text = "[tool.other]\nmodle = 1\n[tool.hplint]\nep = 1\nmodle = 2\n"
    assert complaint(tmp_path, text, "pyproject.toml").line == 5


def test_tool_hplint_must_be_a_table(tmp_path: Path) -> None:
    assert "must be a table" in complaint(tmp_path, "[tool]\nhplint = 3\n", "pyproject.toml").message


def test_a_file_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    path = tmp_path / "hplint.toml"
    path.write_bytes(b"ep = 1\nmodel = '\xff'\n")
    with pytest.raises(ConfigError, match=r"hplint\.toml:2: not UTF-8"):
        read_config(path)


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    assert read_config(write(tmp_path, "hplint.toml", "\ufeffep = 2\r\nderive = true\r\n")).defaults.ep == 2


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path)


def test_no_file_gives_the_empty_configuration(tmp_path: Path) -> None:
    write(tmp_path, "hplint.toml", "")
    assert load_config(tmp_path).defaults == Config().defaults
