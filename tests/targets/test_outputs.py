"""How many outputs a forward has, and what they may be called."""

from pathlib import Path

import pytest

from hplint.targets.find import TargetFinder
from hplint.targets.outputs import output_names

SOURCE = """\
class One:
    def forward(self, x): return x

class Pair:
    def forward(self, x):
        if x is None:
            return None, x
        weights = x
        def inner(): return 1
        return x, weights

class Rotary:
    def forward(self, x): return cos.to(x.dtype).cpu(), sin.to(x.dtype), x + 1

class Twice:
    def forward(self, x): return x, x

class Unequal:
    def forward(self, x):
        if x: return x, x
        return x

class Spread:
    def forward(self, x): return x, *x

class Inherits(Pair):
    pass
"""


@pytest.fixture
def finder(tmp_path: Path) -> TargetFinder:
    (tmp_path / "some_models.py").write_text(SOURCE, encoding="utf-8")
    return TargetFinder([tmp_path], environment=False)


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        ("One", ()), ("Pair", ("x", "weights")), ("Rotary", ("cos", "sin", "output_2")),
        ("Twice", ("output_0", "output_1")), ("Unequal", ()), ("Spread", ()), ("Inherits", ("x", "weights")),
        ("Nothing", ()),
    ],
)  # fmt: skip
def test_the_outputs_are_those_of_every_return(finder: TargetFinder, name: str, outputs: tuple[str, ...]) -> None:
    assert output_names(finder, f"some_models.{name}") == outputs
