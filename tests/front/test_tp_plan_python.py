"""Plans of Hugging Face in Python, in the shapes that public repositories write them in."""

from pathlib import Path

import pytest
from checking import FIXTURES

from hplint.front.read import read_document
from hplint.front.tp_plan.words import WORDS
from hplint.plan.fault import Fault
from hplint.plan.plan import Document, Plan
from hplint.plan.style import TP_PLAN, Carrier
from hplint.resolve.tp_plan.words import WORDS as KNOWN

PLANS = sorted(p for p in (FIXTURES / "plans" / "tp_plan").rglob("*.*") if p.is_file())
TP = Carrier("tp", "config")


def read(text: str) -> Document:
    return read_document("plan.py", text.encode())


def only(text: str) -> Plan:
    document = read(text)
    (plan,) = document.plans
    assert document.faults == () and plan.dialect == TP_PLAN
    return plan


def told(plan: Plan) -> dict[str | None, str | None]:
    """Keys and words; what comes from outside the file under None."""
    return {e.key and e.key.value: e.style and e.style.name for e in plan.styles}


def cuts(plan: Plan) -> list[tuple[str, str | None]]:
    """The tokens of keys and words."""
    return [(plan.source.cut(e.span), e.style and plan.source.cut(e.style.span)) for e in plan.styles]


def faults(plan: Plan) -> list[tuple[str, str]]:
    return [(f.rule, plan.source.cut(f.span)) for f in plan.faults]


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.name)
def test_plans_in_the_usual_shapes_are_read_as_a_whole(path: Path) -> None:
    document = read_document(path.as_posix(), path.read_bytes())
    assert document.plans and document.faults == ()
    assert [f for p in document.plans for f in p.faults] == []
    assert {p.dialect for p in document.plans} == {TP_PLAN}
    for plan in document.plans:
        assert plan.carrier and plan.name
        assert plan.source.cut(plan.anchor).strip("\"'") == plan.name
        for entry in plan.styles:
            assert plan.carrier.section == "pp" or (entry.key is None) == (entry.style is None)
            assert entry.style is None or plan.source.cut(entry.style.span).strip("\"'") == entry.style.name


def test_a_serving_script_says_its_sizes_and_its_model() -> None:
    path = FIXTURES / "plans" / "tp_plan" / "serve_small.py"
    gathered, replicated = read_document("serve_small.py", path.read_bytes()).plans
    assert {told(p)["lm_head"] for p in (gathered, replicated)} == {"replicate", "colwise_gather_output"}
    assert gathered.accelerator and gathered.accelerator.sizes["tp"].value == 4
    assert gathered.model and gathered.model.value == "small-model"
    assert list(told(gathered))[:4] == [f"model.layers.*.self_attn.{n}_proj" for n in "qkvo"]


def test_each_carrier_of_a_class_is_a_plan_of_its_own() -> None:
    text = """class C(P):
    base_model_tp_plan = {"q": "colwise"}
    base_model_ep_plan: ClassVar[dict] = {"e": "grouped_gemm"}
    base_model_pp_plan = {"embed": (["input_ids"], ["inputs_embeds"])}
class M(N):
    _tp_plan = {"lm_head": "colwise_gather_output"}
    _pp_plan = {"lm_head": (["hidden_states"], ["logits"])}
"""
    plans = read(text).plans
    assert [(p.name, p.carrier) for p in plans] == [
        ("base_model_tp_plan", Carrier("tp", "config", "C")), ("base_model_ep_plan", Carrier("ep", "config", "C")),
        ("base_model_pp_plan", Carrier("pp", "config", "C")), ("_tp_plan", Carrier("tp", "model", "M")),
        ("_pp_plan", Carrier("pp", "model", "M")),
    ]  # fmt: skip
    assert cuts(plans[0]) == [('"q"', '"colwise"')]
    assert [plans[0].source.cut(p.anchor) for p in plans] == [p.name for p in plans]
    assert told(plans[2]) == {"embed": None} and plans[2].faults == ()


@pytest.mark.parametrize(
    "plan",
    [
        '{**A.base_model_tp_plan, "o": "rowwise"}', 'A.base_model_tp_plan | {"o": "rowwise"}',
        'dict(A.base_model_tp_plan, o="rowwise")',
        '{k: v for k, v in [*A.base_model_tp_plan.items(), ("o", "rowwise")]}',
        '{**B0.base_model_tp_plan, "o": "rowwise"}', '{**{n: W for n in ("q",)}, "o": "row" "wise"}',
        'with_o(A.base_model_tp_plan)', '{**dict.fromkeys(["q"], W), "o": "rowwise"}',
    ],
)  # fmt: skip
def test_plans_may_be_put_together_in_any_way(plan: str) -> None:
    text = f"""W = "colwise"
def with_o(base):
    base = base.copy()
    base["o"] = "rowwise"
    return base
class A(P):
    base_model_tp_plan = {{"q": W}}
class B0(A):
    pass
class B(A):
    base_model_tp_plan = {plan}
"""
    first, second = read(text).plans
    assert told(first) == {"q": "colwise"}
    assert told(second) == {"q": "colwise", "o": "rowwise"}
    assert second.carrier == TP._replace(owner="B") and second.faults == ()


@pytest.mark.parametrize(
    "change",
    [
        'base_model_tp_plan["o"] = "rowwise"', 'base_model_tp_plan.update({"o": "rowwise"})',
        'base_model_tp_plan |= {"o": "rowwise"}', 'base_model_tp_plan.update(o="rowwise")',
        'base_model_tp_plan.setdefault("o", "rowwise")', 'for n in "o":\n        base_model_tp_plan[n] = "rowwise"',
    ],
)  # fmt: skip
def test_a_class_body_may_go_on_with_its_plan(change: str) -> None:
    plan = only(f'class C(P):\n    base_model_tp_plan = {{"q": "colwise"}}\n    {change}\n')
    assert told(plan) == {"q": "colwise", "o": "rowwise"}


@pytest.mark.parametrize(
    ("statement", "carrier"),
    [
        ('C.base_model_tp_plan = {"q": "colwise"}', TP._replace(owner="C")),
        ('lib.C.base_model_tp_plan = {"q": "colwise"}', TP._replace(owner="C")),
        ('config.base_model_tp_plan = {"q": "colwise"}', TP),
        ('config.text_config.base_model_tp_plan = {"q": "colwise"}', TP._replace(steps=("text_config",))),
        ('model.config.text_config.base_model_tp_plan = {"q": "colwise"}', TP._replace(steps=("text_config",))),
        ('setattr(config, "base_model_tp_plan", {"q": "colwise"})', TP),
        ('setattr(C, "base_model_tp_plan", {"q": "colwise"})', TP._replace(owner="C")),
        ('raw = json.load(f)\nraw["text_config"]["base_model_tp_plan"] = {"q": "colwise"}',
         TP._replace(steps=("text_config",))),
        ('raw = {"text_config": {"base_model_tp_plan": {"q": "colwise"}}}', TP._replace(steps=("text_config",))),
        ('config = Config(base_model_tp_plan={"q": "colwise"})', TP),
        ('C._tp_plan = {"q": "colwise"}', Carrier("tp", "model", "C")),
        ('model._tp_plan = {"q": "colwise"}', Carrier()),
        ('model.tp_plan = {"q": "colwise"}', Carrier()),
        ('model.ep_plan = {"q": "grouped_gemm"}', Carrier("ep")),
        ('class V(P):\n def __init__(self):\n  self.base_model_tp_plan = {"q": "colwise"}', TP._replace(owner="V")),
        ('class V(P):\n def f(self):\n  self.text_config.base_model_tp_plan = {"q": "colwise"}',
         TP._replace(owner="V", steps=("text_config",))),
        ('class V(P):\n @property\n def base_model_tp_plan(self):\n  return {"q": "colwise"}', TP._replace(owner="V")),
        ('class V(P):\n def f(self):\n  self._tp_plan = {"q": "colwise"}', Carrier("tp", "model", "V")),
        ('AutoModel.from_pretrained("x", tp_plan={"q": "colwise"})', Carrier()),
        ('kwargs = {"tp_plan": {"q": "colwise"}}\nAutoModel.from_pretrained("x", **kwargs)', Carrier()),
        ('AutoModel.from_config(config, tp_plan={"q": "colwise"})', Carrier()),
        ('from dataclasses import field\nclass Args:\n tp_plan: dict = field(default_factory=lambda: {"q": "colwise"})',
         Carrier(owner="Args")),
        ('def get_tp_plan():\n return {"q": "colwise"}', Carrier()),
        ('PLAN = {"q": "colwise"}', Carrier()),
        ('PLANS = {"small": {"q": "colwise"}}', Carrier()),
    ],
)  # fmt: skip
def test_plans_are_found_where_they_are_given(statement: str, carrier: Carrier) -> None:
    # The comment makes plain names worth a look.
    plan = only(f"from lib import C\n{statement}\n# a tp_plan\n")
    assert plan.carrier == carrier
    assert list(told(plan)) == ["q"] and cuts(plan)[0][0] == '"q"'


@pytest.mark.parametrize(
    "statement",
    [
        'LlamaConfig.base_model_tp_plan["o"] = "rowwise"', 'config.base_model_tp_plan.update({"o": "rowwise"})',
        'config.base_model_tp_plan |= {"o": "rowwise"}', 'model.tp_plan.update({"o": "rowwise"})',
        'model._tp_plan["o"] = "rowwise"', 'model.tp_plan = {**model.tp_plan, "o": "rowwise"}',
        'class C(LlamaConfig):\n base_model_tp_plan = {**LlamaConfig.base_model_tp_plan, "o": "rowwise"}',
        'class C(LlamaConfig):\n base_model_tp_plan = LlamaConfig.base_model_tp_plan | {"o": "rowwise"}',
        'class C(LlamaConfig):\n base_model_tp_plan = LlamaConfig.base_model_tp_plan.copy()\n'
        ' base_model_tp_plan["o"] = "rowwise"',
        'from copy import deepcopy\nplan = deepcopy(config.base_model_tp_plan)\nplan["o"] = "rowwise"\n'
        'config.base_model_tp_plan = plan',
        'class C(LlamaConfig):\n def __init__(self):\n  self.base_model_tp_plan = {**self.base_model_tp_plan,'
        ' "o": "rowwise"}',
        'class C(LlamaConfig):\n def f(self):\n  self.base_model_tp_plan = {**super().base_model_tp_plan,'
        ' "o": "rowwise"}',
        'plan = getattr(config, "base_model_tp_plan", None) or {}\nplan["o"] = "rowwise"\nmodel.tp_plan = plan',
        'plan = {f"text.{k}": v for k, v in LlamaConfig.base_model_tp_plan.items()}\nplan["o"] = "rowwise"\n'
        'config.base_model_tp_plan = plan',
        'def f(model, plan):\n plan["o"] = "rowwise"\n model.tp_plan = plan',
        'def f(model, **more):\n model.tp_plan = {**more, "o": "rowwise"}',
    ],
)  # fmt: skip
def test_what_extends_a_plan_from_outside_the_file_is_read_without_a_word_about_the_rest(statement: str) -> None:
    plan = only(f"from transformers import LlamaConfig\n{statement}\n")
    assert told(plan) == {None: None, "o": "rowwise"}
    assert plan.faults == ()


@pytest.mark.parametrize(
    "statement",
    [
        'AutoModel.from_pretrained("x", tp_plan="auto", tp_size=4)', 'DistributedConfig(tp_size=4, tp_plan="auto")',
        "class C(P):\n base_model_tp_plan = None\n _tp_plan = None",
        "class C(P):\n base_model_tp_plan = AttributeError()",
        "travel(tp_plan={'day': 1, 'night': 2})", "travel(tp_plan={'day': 'sunny'})", "travel(tp_plan={})",
        "config.tp_plan = args.tp_plan", "def f(self, tp_plan=None):\n self._tp_plan = tp_plan or {}",
        "class C(P):\n base_model_tp_plan = LlamaConfig.base_model_tp_plan",
        "tp_plan = {'monday': 'rest'}", "tp_plan = {'where': 'local', 'what': 'replicate'}",
        "print(model.tp_plan)", "if config.base_model_tp_plan is None:\n pass",
        "x = config.base_model_tp_plan\nx.pop('lm_head')",
    ],
)  # fmt: skip
def test_what_is_no_plan_is_left_alone(statement: str) -> None:
    document = read(f"from transformers import *\n{statement}\n")
    assert document.plans == () and document.faults == ()


def test_a_dict_of_torch_styles_is_no_plan_of_this_dialect() -> None:
    text = """from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
tp_plan = {"wq": ColwiseParallel()}
parallelize_module(model, mesh, tp_plan)
parallelize_module(model, mesh, self.tp_plan)
"""
    assert [p.dialect for p in read(text).plans] == ["torch"]


def test_words_that_a_file_turns_into_torch_styles_itself_are_no_plan() -> None:
    text = """from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
plan = {"wq": "colwise", "wo": "rowwise"}
styles = {"colwise": ColwiseParallel(), "rowwise": RowwiseParallel()}
parallelize_module(model, mesh, {key: styles[word] for key, word in plan.items()})  # by the tp_plan
"""
    assert {p.dialect for p in read(text).plans} == {"torch"}


def test_sizes_beside_a_plan_say_what_it_is_for() -> None:
    plan = only(
        "import transformers as t\nt.DistributedConfig(tp_size=4, ep_size=n, pp_size=None, tp_plan={'q': 'colwise'})"
    )
    assert plan.accelerator and not plan.accelerator.implied
    assert {axis: plan.source.cut(n.span) for axis, n in plan.accelerator.sizes.items()} == {"tp": "4"}


def test_a_distributed_config_of_one_call_makes_a_plan_of_each_section() -> None:
    text = """from transformers import AutoModel, DistributedConfig as D
AutoModel.from_pretrained("small", distributed_config=D(2, {"q": "colwise"}, ep_size=2, ep_plan={"e": "grouped_gemm"}))
"""
    plans = read(text).plans
    assert [(p.carrier and p.carrier.section, told(p)) for p in plans] == [
        ("tp", {"q": "colwise"}), ("ep", {"e": "grouped_gemm"})
    ]  # fmt: skip
    for plan in plans:
        assert plan.accelerator and {a: n.value for a, n in plan.accelerator.sizes.items()} == {"tp": 2, "ep": 2}
        assert plan.model and plan.source.cut(plan.model.span) == '"small"'


def test_an_empty_plan_beside_sizes_counts() -> None:
    plan = only('AutoModel.from_pretrained("x", distributed_config={"tp_size": 2, "ep_size": 2, "tp_plan": {}})')
    assert plan.styles == () and plan.source.cut(plan.anchor) == '"tp_plan"'


@pytest.mark.parametrize(
    "text",
    [
        'class C(P):\n base_model_tp_plan = {"q": "colwise"}\n'
        ' base_model_tp_plan = {**base_model_tp_plan, "o": "rowwise"}',
        'class C(P):\n base_model_tp_plan = {"x": "colwise"}\n base_model_tp_plan = {"q": "colwise", "o": "rowwise"}',
        'class C(P):\n base_model_tp_plan = {"q": "colwise"}\n def __init__(self):\n'
        '  self.base_model_tp_plan = {**self.base_model_tp_plan, "o": "rowwise"}',
        'class C(P):\n base_model_tp_plan = {"q": "colwise"}\n'
        'C.base_model_tp_plan = C.base_model_tp_plan | {"o": "rowwise"}',
        'config.base_model_tp_plan = {"q": "colwise"}\n'
        'config.base_model_tp_plan = {**config.base_model_tp_plan, "o": "rowwise"}',
    ],
)  # fmt: skip
def test_a_plan_that_the_same_name_goes_on_with_counts_as_it_ends(text: str) -> None:
    assert told(only(text)) == {"q": "colwise", "o": "rowwise"}


def test_a_size_that_is_none_is_told() -> None:
    plan = only('load(tp_plan={"q": "colwise"}, tp_size="4")')
    assert faults(plan) == [("wrong-type", '"4"')]


def test_a_plan_that_is_handed_on_is_told_once_where_most_is_known_of_it() -> None:
    text = """def load(path, tp_plan=None, size=2):
    return AutoModel.from_pretrained(path, tp_plan=tp_plan, tp_size=4)
plan = {"q": "colwise"}
load("small", tp_plan=plan)
"""
    plan = only(text)
    assert plan.model and plan.model.value == "small" and plan.accelerator


def test_both_branches_of_a_condition_are_read() -> None:
    text = """class C(P):
    def __init__(self, moe):
        self.base_model_tp_plan = {"q": "colwise"}
        if moe:
            self.base_model_tp_plan["experts"] = "moe_tp_experts"
        else:
            self.base_model_tp_plan["mlp"] = "colwise"
"""
    plans = read(text).plans
    assert sorted(map(str, map(told, plans))) == sorted(
        map(str, ({"q": "colwise", "experts": "moe_tp_experts"}, {"q": "colwise", "mlp": "colwise"}))
    )
    assert {(e.key.value, e.conditional) for p in plans for e in p.styles if e.key} == {
        ("q", False), ("experts", True), ("mlp", True)
    }  # fmt: skip
    assert all(len(p.other_styles) == 1 and p.other_styles[0].index == 2 for p in plans)


def test_numbers_that_are_known_only_at_run_time_become_a_star() -> None:
    plan = only("def f(model, n):\n model.tp_plan = {f'layers.{i}.q': 'colwise' for i in range(n)}")
    assert told(plan) == {"layers.*.q": "colwise"} and plan.styles[0].glob
    assert cuts(plan) == [("f'layers.{i}.q'", "'colwise'")]


def test_values_that_are_no_words_are_told_each_at_its_place() -> None:
    plan = only(
        "class C(P):\n base_model_tp_plan = {'a': 3, 'b': None, 'c': ['colwise'], 4: 'colwise', 'd': 'rowwise'}"
    )
    assert faults(plan) == [
        ("wrong-type", "3"), ("wrong-type", "None"), ("wrong-type", "['colwise']"), ("wrong-type", "4")
    ]  # fmt: skip
    first: Fault = plan.faults[0]
    assert (first.entry, first.data["match"], first.data["type"]) == (0, "a", "a number")
    assert told(plan)["d"] == "rowwise"


def test_values_that_cannot_be_read_are_told_and_the_rest_is_read() -> None:
    text = """from .plans import WORD, MORE
class C(P):
    base_model_tp_plan = {"q": WORD, "o": "rowwise", key(): "colwise", **MORE}
"""
    plan = only(text)
    assert faults(plan) == [("not-evaluated", t) for t in ("WORD", "key()", "MORE")]
    assert told(plan) == {"q": None, "o": "rowwise", None: None}
    assert "comes from another module" in plan.faults[2].data["reason"]


def test_a_whole_plan_that_cannot_be_read_is_told_of_the_file() -> None:
    document = read("class C(P):\n base_model_tp_plan = make_plan()\n")
    assert document.plans == ()
    assert [(f.rule, document.source.cut(f.span)) for f in document.faults] == [("not-evaluated", "make_plan()")]


def test_a_key_that_a_literal_writes_twice_is_told_at_the_second() -> None:
    plan = only("class C(P):\n base_model_tp_plan = {'q': 'colwise', 'o': 'rowwise', 'q': 'rowwise'}")
    (fault,) = plan.faults
    assert fault.rule == "duplicate-key" and fault.span.start == plan.source.text.rindex("'q'")
    assert fault.related == (("first written here", plan.styles[0].span._replace(
        start=plan.source.text.index("'q'"), end=plan.source.text.index("'q'") + 3)),)  # fmt: skip
    assert told(plan) == {"q": "rowwise", "o": "rowwise"}


def test_functions_that_call_what_names_a_plan_are_followed_and_no_others() -> None:
    text = """def apply(model, rules):
    model.tp_plan = rules
def main(model):
    apply(model, {"q.proj": "colwise"})
def unrelated(model):
    while True:
        model = {"plan": {"x": "colwise"}}
"""
    assert told(only(text)) == {"q.proj": "colwise"}


def test_every_word_of_the_library_is_one_that_tells_a_plan() -> None:
    assert set(KNOWN) <= WORDS
