"""What reading tells of real packages, against what importing them gives."""

import importlib
import inspect

import pytest

from hplint.targets.find import Missing, TargetFinder

MODULES = ["json", "logging", "functools", "collections", "os", "unittest.mock", "concurrent.futures", "click", "yaml"]


@pytest.mark.parametrize("module", MODULES)
def test_reading_a_real_package_agrees_with_importing_it(module: str) -> None:
    finder = TargetFinder()
    for name, value in vars(importlib.import_module(module)).items():
        if name.startswith("__"):
            continue
        reading = finder.read(f"{module}.{name}")
        if isinstance(reading.found, Missing):
            assert not reading.found.certain, name
            continue
        assert not (callable(value) and reading.found.callable is False), name
        if reading.signatures and callable(value):
            parameters = tuple(inspect.signature(value).parameters)
            assert parameters in {tuple(p.name for p in s.parameters) for s in reading.signatures}, name
