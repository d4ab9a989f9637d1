"""Any plan that is written in any language and spelling reads back as itself; no text makes the readers fail."""

import ast
import importlib
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import FIXTURES
from hypothesis import example, given
from hypothesis import strategies as st

from hplint.front.read import read_document
from hplint.front.tp_plan.words import CARRIERS, WORDS
from hplint.plan.plan import Document
from hplint.plan.style import TP_PLAN

SAMPLE = 14
"""Config and model files of the installed library that the suite reads."""

segments = st.one_of(
    st.sampled_from(("*", "layers", "self_attn", "q_proj", "mlp", "3", "weight")),
    st.text("aé_𝔸0'\"\\ #:{}-", min_size=1),
)
keys = st.lists(segments, min_size=1, max_size=4).map(".".join)
plans = st.dictionaries(keys, st.sampled_from(sorted(WORDS)), min_size=1, max_size=6)
names = st.sampled_from([n for n in CARRIERS if "pp_plan" not in n])


def quoted(text: str, how: int) -> str:
    """A string literal of Python."""
    if how == 0:
        return repr(text)
    if how == 1:
        return json.dumps(text, ensure_ascii=False)
    if how == 2:
        return f"({text[:1]!r}\n  {text[1:]!r})"
    if how == 3:
        return "".join(["'", *(f"\\U{ord(c):08x}" for c in text), "'"])
    return "f" + repr(text.replace("{", "{{").replace("}", "}}")) if "\\" not in text else repr(text)


hows = st.integers(0, 4)


@given(plans, names, st.lists(hows, min_size=12, max_size=12), st.integers(0, 4))
@example({"layers.*.q": "colwise"}, "tp_plan", [0] * 12, 2)
def test_a_plan_in_python_reads_back_as_itself(
    plan: dict[str, str], name: str, spelling: list[int], place: int
) -> None:
    pairs = [(quoted(k, spelling[2 * i]), quoted(w, spelling[2 * i + 1])) for i, (k, w) in enumerate(plan.items())]
    literal = "{" + ", ".join(f"{k}: {w}" for k, w in pairs) + "}"
    text = (
        f"class C(P):\n    {name} = {literal}\n",
        f"class C(P):\n    {name}: dict = {{}}\n" + "".join(f"    {name}[{k}] = {w}\n" for k, w in pairs),
        f"AutoModel.from_pretrained('x', {name}={literal})\n",
        f"plan = dict([{', '.join(f'({k}, {w})' for k, w in pairs)}])\nconfig.{name} = {{**plan}}\n",
        f"def f(model):\n    model.{name} = {literal}\n",
    )[place]
    document = read_document("plan.py", text.encode())
    assert told(document) == plan and list(told(document)) == list(plan)
    for token, value in tokens(document):
        assert ast.literal_eval(f"({token})") == value if not token.startswith("f") else eval(token) == value


@given(plans, names, st.booleans(), st.sampled_from((None, 1, "\t")))
def test_a_plan_in_json_reads_back_as_itself(plan: dict[str, str], name: str, ascii_only: bool, indent: Any) -> None:
    text = json.dumps({"model_type": "x", "tp_size": 2, name: plan}, ensure_ascii=ascii_only, indent=indent)
    document = read_document("config.json", text.encode())
    assert told(document) == plan
    assert all(json.loads(token) == value for token, value in tokens(document))


@given(plans, names, st.sampled_from((None, "'", '"')), st.booleans(), st.booleans())
def test_a_plan_in_yaml_reads_back_as_itself(
    plan: dict[str, str], name: str, style: Any, flow: bool, unicode: bool
) -> None:
    data = {"serve": [{"tp_size": 2, name: plan}]}
    text = yaml.safe_dump(
        data, default_style=style, default_flow_style=flow, allow_unicode=unicode, sort_keys=False, width=10_000
    )
    document = read_document("serve.yaml", text.encode())
    assert told(document) == plan
    assert all(yaml.safe_load(token) == value for token, value in tokens(document))


def told(document: Document) -> dict[str, str]:
    (plan,) = (p for p in document.plans if p.dialect == TP_PLAN)
    assert plan.faults == () and document.faults == ()
    return {e.key.value: e.style.name for e in plan.styles if e.key and e.style}


def tokens(document: Document) -> list[tuple[str, str]]:
    found = []
    for entry in document.plans[0].styles:
        assert entry.key and entry.style
        found += [(entry.key.span, entry.key.value), (entry.style.span, entry.style.name)]
    return [(document.source.cut(span), value) for span, value in found]


TEXTS = [(p.name, p.read_text(encoding="utf-8")) for p in (FIXTURES / "plans" / "tp_plan").rglob("*.*") if p.is_file()]


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 90), max_size=4), st.lists(st.integers(0, 3000), max_size=2))
def test_texts_that_lost_lines_or_characters_never_fail(
    file: tuple[str, str], lines: list[int], characters: list[int]
) -> None:
    name, text = file
    text = "".join(line for i, line in enumerate(text.splitlines(keepends=True)) if i not in lines)
    for at in characters:
        text = text[:at] + text[at + 1 :]
    document = read_document(name, text.encode())
    for plan in document.plans:
        for entry in plan.styles:
            assert document.source.cut(entry.span)


def _library(kind: str) -> list[Path]:
    """Files of the installed library that have plans, evenly picked."""
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        return []
    found = sorted((Path(spec.origin).parent / "models").glob(f"*/{kind}_*.py"))[::3]
    having = [p for p in found if re.search(rb"(?:tp|ep|pp)_plan", p.read_bytes())]
    return having[:: max(1, len(having) // SAMPLE)][:SAMPLE]


Shipped = dict[tuple[str | None, str | None], list[tuple[str, str | None]]]
"""Class and attribute -> the items of each plan that the class sets itself."""


def _read(path: Path) -> Shipped:
    document = read_document(path.name, path.read_bytes())
    assert document.faults == () and not any(p.faults for p in document.plans), path.name
    found: Shipped = {}
    for plan in document.plans:
        assert plan.carrier and all(e.key for e in plan.styles)
        items = [(e.key.value if e.key else "", e.style and e.style.name) for e in plan.styles]
        found[plan.carrier.owner, plan.name] = items
    return found


def _items(name: str, plan: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(key, None if "pp_plan" in name else word) for key, word in plan.items()]


def test_the_plans_of_the_installed_library_are_those_of_its_config_classes() -> None:
    pytest.importorskip("transformers")
    for path in _library("configuration"):
        module = f"transformers.models.{path.parent.name}.{path.stem}"
        classes = [c for c in vars(importlib.import_module(module)).values() if isinstance(c, type)]
        assert _read(path) == {
            (c.__name__, name): _items(name, c.__dict__[name])
            for c in classes
            for name in CARRIERS
            if c.__module__ == module and isinstance(c.__dict__.get(name), dict)
        }, path.name


def test_the_plans_of_the_installed_library_are_those_of_its_model_classes() -> None:
    """As Python's own parser has them: importing the modules takes seconds."""
    pytest.importorskip("transformers")
    for path in _library("modeling"):
        tree = ast.parse(path.read_bytes())
        assert _read(path) == {
            (one.name, node.targets[0].id): _items(node.targets[0].id, ast.literal_eval(node.value))
            for one in tree.body
            if isinstance(one, ast.ClassDef)
            for node in one.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if node.targets[0].id in CARRIERS and isinstance(node.value, ast.Dict)
        }, path.name
