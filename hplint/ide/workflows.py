"""What hplint init writes for each place: CI workflows, hooks, tasks and settings."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hplint.ide.matchers import github_matcher, vscode_matcher

SCHEMA_FILE = ".vscode/hplint-schema.json"
MATCHER_FILE = ".github/hplint-matcher.json"
FALLBACK_GLOBS = ("plans/**/*.yaml",)


class Piece(NamedTuple):
    """One file: its path with ``/``, and what it says. ``merge`` is what it adds to a JSON file that is there already:
    (path of keys, key or None for an item of an array, value). ``ours``: an older one may be replaced; ``sign``: what
    an existing file holds to which it was added by hand."""

    path: str
    text: str
    merge: tuple[tuple[tuple[str, ...], str | None, Any], ...] = ()
    ours: bool = False
    sign: str = ""


_GITHUB = """\
# Checks the sharding plans of this repository.
name: hplint

on:
  push:
    branches: [main]
  pull_request:

permissions:
  contents: read

jobs:
  hplint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - uses: actions/cache@v4
        with:
          path: ~/.cache/hplint
          key: hplint-${{ hashFiles('**/config.json') }}
      - name: Install
        # Models are built without weights: the build of torch for CPUs is enough.
        run: pip install 'hplint[hf]' --extra-index-url https://download.pytorch.org/whl/cpu
      - name: Check
        run: |
          echo "::add-matcher::MATCHER"
          hplint --output-format concise
      # For code scanning instead: give the job `security-events: write` under `permissions`, replace the line above by
      #   hplint --output-format sarif --output-file hplint.sarif
      # and add this step:
      # - uses: github/codeql-action/upload-sarif@v3
      #   if: always()
      #   with:
      #     sarif_file: hplint.sarif
"""
_GITLAB = """\
# Checks the sharding plans of this repository; findings appear in merge requests.
hplint:
  image: python:3.12
  variables:
    XDG_CACHE_HOME: $CI_PROJECT_DIR/.cache
  cache:
    key: hplint
    paths:
      - .cache/hplint
  script:
    # Models are built without weights: the build of torch for CPUs is enough.
    - pip install 'hplint[hf]' --extra-index-url https://download.pytorch.org/whl/cpu
    - hplint --output-format gitlab --output-file gl-code-quality-report.json
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""
_PRE_COMMIT = """\
repos:
  # hplint runs from the environment in which you commit: it builds your models there.
  - repo: local
    hooks:
      - id: hplint
        name: hplint
        entry: hplint check --skip-planless
        language: system
        types_or: [yaml, json, python]
        require_serial: true
"""


def github() -> list[Piece]:
    """A workflow, and the problem matcher that makes annotations of its lines."""
    return [
        Piece(".github/workflows/hplint.yml", _GITHUB.replace("MATCHER", MATCHER_FILE)),
        Piece(MATCHER_FILE, _json(github_matcher())),
    ]


def gitlab() -> list[Piece]:
    """A job that reports code quality."""
    return [Piece(".gitlab-ci.yml", _GITLAB, sign="\nhplint:\n")]


def pre_commit() -> list[Piece]:
    """A hook that runs the hplint of the environment."""
    return [Piece(".pre-commit-config.yaml", _PRE_COMMIT, sign=" id: hplint\n")]


def vscode(globs: Sequence[str], schema: dict[str, Any]) -> list[Piece]:
    """Tasks that fill the list of problems, and the schema by which the YAML extension completes plans.

    ``globs`` are those of the plan files, from the folder of the workspace.
    """
    tasks = [_task("hplint"), _task("hplint --watch", "--watch")]
    schemas = {SCHEMA_FILE: list(globs or FALLBACK_GLOBS)}
    return [
        Piece(
            ".vscode/tasks.json",
            _json({"version": "2.0.0", "tasks": tasks}),
            tuple((("tasks",), None, task) for task in tasks),
        ),
        Piece(".vscode/settings.json", _json({"yaml.schemas": schemas}), (((), "yaml.schemas", schemas),)),
        Piece(SCHEMA_FILE, json.dumps(schema, indent=1, ensure_ascii=False) + "\n", ours=True),
    ]


def _task(label: str, *arguments: str) -> dict[str, Any]:
    task: dict[str, Any] = {
        "label": label,
        "type": "process",
        "command": "hplint",
        "args": [*arguments, "--output-format", "concise", "--color", "never"],
        "problemMatcher": vscode_matcher(background=bool(arguments)),
        "presentation": {"reveal": "silent", "panel": "dedicated"},
    }
    if arguments:
        task["isBackground"] = True
    return task


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
