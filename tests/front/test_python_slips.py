"""Misspelt plan words in Python: certain NameErrors are told as such, and what was meant is read."""

import pytest

from hplint.front.python.bound import bound_names
from hplint.front.python.places import parse
from hplint.front.read import read_document
from hplint.plan.plan import Document
from hplint.text.source import Source

HEAD = """\
from hyper_parallel.distributed import ModuleShardingSpec, TP
from hyper_parallel.core.dtensor.placement_types import Shard, Replicate
"""


def read(text: str) -> Document:
    return read_document("plan.py", text.encode())


def slips(text: str) -> list[tuple[str, str, bool]]:
    document = read(text)
    return [(document.source.cut(f.span), f.data["meant"], f.data["certain"]) for f in document.faults]


def plan(field: str, spec: str = "ModuleShardingSpec", head: str = HEAD) -> str:
    return f'{head}plan = {{"lm_head": {spec}(params={{"weight": {field}}})}}\n'


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        (plan("{TPP: Shard(0)}"), "TPP", "TP"),
        (plan("{TP: Replicte()}"), "Replicte", "Replicate"),
        (plan("{TP: shard(0)}"), "shard", "Shard"),
        (plan("{TP: Shard(0)}", "ModuleShardngSpec"), "ModuleShardngSpec", "ModuleShardingSpec"),
        (f"{HEAD}COL = {{TPP: Shard(0)}}\n{plan('COL', head='')}", "TPP", "TP"),
    ],
)
def test_a_misspelt_plan_word_that_nothing_defines_is_read_as_what_it_means(text: str, name: str, meant: str) -> None:
    assert slips(text) == [(name, meant, True)]
    (found,) = read(text).plans
    assert found.faults == ()
    (layout,) = (found.entries[0].contract["params"].layouts or {}).values()
    assert "tp" in layout.placements and layout.placements["tp"] is not None


@pytest.mark.parametrize(
    "more",
    [
        "from somewhere import *\n",
        "from somewhere import TPP\n",
        "import TPP\n",
        "for TPP in names():\n    pass\n",
        "def f(TPP): ...\n",
        "globals()['TPP'] = 'tp'\n",
        "try:\n    pass\nexcept E as TPP:\n    pass\n",
    ],
)
def test_a_name_that_may_be_defined_is_no_certain_slip(more: str) -> None:
    text = f"{HEAD}{more}{plan('{TPP: Shard(0)}', head='')}"
    assert read(text).faults == ()
    (found,) = read(text).plans
    assert [f.rule for f in found.faults] in ([], ["not-evaluated"])


def test_a_small_axis_may_be_anything_but_the_axis_is_offered() -> None:
    text = plan("{tp: Shard(0)}")
    assert read(text).faults == ()
    (fault,) = read(text).plans[0].faults
    assert fault.rule == "not-evaluated" and fault.data["meant"] == "TP"


@pytest.mark.parametrize("name", ["dm", "op", "PP", "axis", "x"])
def test_a_name_that_is_like_no_plan_word_is_merely_unknown(name: str) -> None:
    text = plan(f"{{{name}: Shard(0)}}")
    assert read(text).faults == ()
    (fault,) = read(text).plans[0].faults
    assert fault.rule == "not-evaluated" and fault.data["meant"] is None


@pytest.mark.parametrize(
    "text",
    [
        plan("{TP: Shard(0)}", "ModuleShardngSpec", "from hyper_parallel.distributed import *\n"),
        plan("{TP: Shard(0)}", "d.ModuleShardngSpec", "import hyper_parallel.distributed as d\n"),
        plan("{TP: Shard(0)}", "ModuleShardngSpec", "from hyper_parallel.distributed import ModuleShardngSpec, TP\n"),
    ],
)
def test_a_dict_of_misspelt_specs_is_a_plan(text: str) -> None:
    ((_, meant, certain),) = slips(text)
    assert meant == "ModuleShardingSpec" and not certain
    assert len(read(text).plans) == 1


def test_a_star_import_may_define_anything() -> None:
    assert bound_names(parse(Source("x.py", "from a import *\n"))) is None


def test_all_ways_of_binding_a_name_are_known() -> None:
    text = """\
import a, b.c, d as e
from f import g, h as i
j: int = 1
(k := 2)
def l(m, *n, o=1, **p): pass
class q: pass
for r, (s, *t) in x: pass
with x as u: pass
try: pass
except E as v: pass
match x:
    case {"a": w, **y}: pass
    case [z, *aa]: pass
    case [1] as bb: pass
[0 for cc in x]
lambda dd: 0
async def ee(): pass
del ff
"""
    names = bound_names(parse(Source("x.py", text)))
    assert names is not None
    assert {*"abegijklmnopqrstuvwyz", "aa", "bb", "cc", "dd", "ee", "ff", "print", "__name__"} <= names
    assert not {"c", "d", "f", "h", "x", "E"} & names
