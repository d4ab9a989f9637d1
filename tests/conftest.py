"""What all tests share: fixtures in the repository, and the flags that rewrite expected output."""

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from hplint.model.tree import ModuleTree

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-pages", action="store_true", help="rewrite the findings blocks of the rule pages")
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")
    parser.addoption("--update-trees", action="store_true", help="rebuild fixtures/trees")


def pytest_configure(config: pytest.Config) -> None:
    # What a service that runs these tests says of itself must not reach what they test.
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        os.environ.pop(name, None)
    # How long an example takes is up to the machine and to what else runs on it.
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")


@cache
def read_tree(name: str) -> ModuleTree:
    return ModuleTree.from_json(json.loads((FIXTURES / "trees" / f"{name}.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def tree() -> Callable[[str], ModuleTree]:
    """Trees of fixtures/trees by name."""
    return read_tree


@pytest.fixture(scope="session")
def fixtures() -> Path:
    return FIXTURES
