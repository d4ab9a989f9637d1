"""Injected functions: decorators, finding them, and what is said of those that do not fit. No ranks are needed."""

import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from torch import nn

import hplint.apply
from hplint.apply.inject.decorators import mark_of
from hplint.apply.inject.injections import InjectionError, build_compute, find_injections, install_wrapper
from hplint.apply.mesh.meshes import Meshes
from hplint.apply.plan import ApplyBoundary, ApplyPlan, Call
from hplint.apply.region.region import Region
from hplint.resolve.topology import Topology

NO_MESHES = Meshes(cast(Any, None))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(4, 4)
        self.width = 3

    def forward(self, hidden_states, scale=1.0):
        return self.core(hidden_states) * scale


def model():
    root = nn.Module()
    root.mlp = Layer()
    return root


def plan(src=(), **fields):
    boundary = ApplyBoundary("mlp", place="plan.yaml:7", **fields)
    return ApplyPlan((boundary,), Topology(), src=tuple(map(str, src)))


def compute(target, src=(), **keywords):
    return plan(src, region_dispatch=False, local_compute_fn=Call(target, keywords))


def wrapper(target, src=(), on="self"):
    return plan(src, region_dispatch=False, inner_target=on, inner_wrapper=target)


def region(of):
    return Region(of.boundaries[0], (), NO_MESHES)


def built(of, root):
    [found] = find_injections(of, root).values()
    return build_compute(region(of), root.mlp, found)


def installed(of, root):
    [found] = find_injections(of, root).values()
    return install_wrapper(region(of), root.mlp, found)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Writes a module of its own name, so that none is taken for one of another test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"functions_{abs(hash(tmp_path))}"

    def write(text):
        head = "from hplint.apply import inner_wrapper, local_compute\n"
        (tmp_path / f"{name}.py").write_text(head + text)
        return name, tmp_path

    yield write
    sys.modules.pop(name, None)


def test_the_decorators_return_the_function_and_mark_it():
    def factory(mesh, tp_mesh, cp_mesh, ep_mesh, *, block: int = 2):
        return block

    def wrap(target_module, mesh, tp_mesh, cp_mesh, ep_mesh):
        return None

    assert hplint.apply.local_compute(factory) is factory
    assert mark_of(factory) == "local_compute_fn"
    assert mark_of(hplint.apply.inner_wrapper(wrap)) == "inner_wrapper"
    assert mark_of(lambda: None) is None


def test_marks_of_other_packages_are_read_from_what_their_decorators_leave():
    def by_name():
        pass

    by_name._hp_local_compute = True

    def by_value():
        pass

    by_value._kind = "inner_wrapper"

    class LocalComputeFactory:
        def __call__(self):
            pass

    def by_type():
        pass

    by_type._spec = type("InnerWrapperSpec", (), {})()
    assert mark_of(by_name) == "local_compute_fn"
    assert mark_of(by_value) == "inner_wrapper"
    assert mark_of(LocalComputeFactory()) == "local_compute_fn"
    assert mark_of(by_type) == "inner_wrapper"


@pytest.mark.parametrize(
    "parameters, text",
    [
        ("mesh, tp_mesh, cp_mesh", "lacks the parameter `ep_mesh`"),
        ("block", "lacks the parameters `mesh`, `tp_mesh`, `cp_mesh`, `ep_mesh`"),
        ("mesh, tp_mesh, cp_mesh, ep_mesh, **more", r"takes `\*\*more`"),
        ("mesh, tp_mesh, cp_mesh, ep_mesh, *more", r"takes `\*more`"),
        ("mesh, tp_mesh, cp_mesh, ep_mesh=None", "gives `ep_mesh` a default value"),
        ("mesh, tp_mesh, cp_mesh, ep_mesh, module=None", "gives `module` a default value"),
        ("mesh, tp_mesh, cp_mesh, ep_mesh, /", "takes `mesh` by position alone"),
    ],
)
def test_a_factory_with_other_parameters_is_refused_where_it_is_defined(parameters, text):
    space: dict[str, Any] = {}
    exec(f"def factory({parameters}): pass", space)
    with pytest.raises(TypeError, match=f"@local_compute: `factory` {text}"):
        hplint.apply.local_compute(space["factory"])


def test_a_wrapper_needs_the_target_module_too():
    with pytest.raises(TypeError, match=r"@inner_wrapper: .* lacks the parameter `target_module`"):
        hplint.apply.inner_wrapper(lambda mesh, tp_mesh, cp_mesh, ep_mesh: None)


CONTEXT = "mesh, tp_mesh, cp_mesh, ep_mesh"


def test_a_factory_gets_its_keywords_and_the_module_and_its_result_runs_in_place_of_the_forward(source):
    name, folder = source(f"""
@local_compute
def factory(module, {CONTEXT}, *, factor: int = 1):
    assert mesh is None and tp_mesh is None and module.width == 3
    def compute(module, hidden_states, scale=1.0):
        return (module.width, hidden_states, scale, factor)
    return compute
""")
    of = compute(f"{name}.factory", [folder], factor=5)
    assert built(of, model())("x", scale=2) == (3, "x", 2, 5)
    path = compute(f"{folder}/{name}.py:factory", factor=5)
    assert built(path, model())("x") == (3, "x", 1.0, 5)


def _refused(of, act=built):
    root = model()
    before = dict(vars(root.mlp))
    with pytest.raises(InjectionError) as caught:
        act(of, root)
    assert caught.value.boundary == "mlp"
    assert vars(root.mlp) == before
    return f"{caught.value.message} | {caught.value.hint}"


@pytest.mark.parametrize(
    "body, keywords, text",
    [
        ("def compute(module, hidden_states, scale): ...", {"facto": 1}, "takes no keyword `facto` | `factor` is near"),
        ("def compute(module, hidden_states, scale): ...", {"ep_mesh": 1}, "is configured with `ep_mesh`, which is"),
        ("compute = 3", {}, "returns a value of type `int`, which is no function | return `compute(module, …)`"),
        ("def compute(): ...", {}, "returns a function that takes no parameters; the first one is the module"),
        ("def compute(module, **more): ...", {}, "takes `**more`; give every parameter its name"),
        ("def compute(module, hidden_state): ...", {}, "takes `hidden_state`, which the module's forward does not"),
        ("def compute(module, scale, hidden_states): ...", {}, "in another order than the module's forward"),
        ("def compute(module, scale=1): ...", {}, "does not take `hidden_states`, which the module's forward needs"),
        ("raise KeyError('no')", {}, "fails: KeyError: 'no'"),
    ],
)
def test_a_compute_function_that_does_not_fit_names_boundary_and_entry(source, body, keywords, text):
    name, folder = source(f"""
@local_compute
def factory({CONTEXT}, *, factor: int = 1):
    {body}
    return compute
""")
    told = _refused(compute(f"{name}.factory", [folder], **keywords))
    assert told.startswith(f"`{name}.factory` at `mlp` (plan.yaml:7) ")
    assert text in told


@pytest.mark.parametrize(
    "text, target, told",
    [
        ("def plain(): ...", "plain", "has no decorator; local_compute_fn needs `hplint.apply.local_compute`"),
        (
            f"@inner_wrapper\ndef wrap(target_module, {CONTEXT}): ...",
            "wrap",
            "is decorated with `inner_wrapper`; local_compute_fn needs `hplint.apply.local_compute`",
        ),
        ("number = 3", "number", "is of type `int`, which cannot be called"),
        ("def factory(): ...", "factroy", "has no `factroy` | `factory` is near"),
        ("import no_such_kernels", "factory", "needs the module `no_such_kernels`, which is not installed here"),
        ("x = 1 / 0", "factory", "cannot be imported: ZeroDivisionError: division by zero"),
        ("@local_compute\ndef factory(mesh): ...", "factory", "cannot be imported: TypeError: @local_compute:"),
        (
            f"@local_compute\ndef factory({CONTEXT}, *, degree: int): ...",
            "factory",
            "needs the keyword `degree` | configure it beside `_target_`",
        ),
    ],
)
def test_a_function_that_cannot_be_used_says_why_before_anything_is_called(source, text, target, told):
    name, folder = source(text)
    root = model()
    with pytest.raises(InjectionError) as caught:
        find_injections(compute(f"{name}.{target}", [folder]), root)
    assert told in f"{caught.value.message} | {caught.value.hint}"


@pytest.mark.parametrize(
    "target, told",
    [
        ("no_such_package_here.f", "there is no package `no_such_package_here` here | give its folder with --src"),
        ("kernels", "is no dotted path to a function"),
        ("kernels..f", "is no dotted path to a function"),
        ("no/such.py:f", "there is no file `no/such.py`"),
        ("torch.nn.no_such", "`torch.nn` has no `no_such`"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(target, told):
    assert told in _refused(compute(target))


def test_a_call_that_the_compute_function_does_not_take_names_the_boundary(source):
    name, folder = source(f"""
@local_compute
def factory({CONTEXT}):
    return lambda module, hidden_states: hidden_states
""")
    run = built(compute(f"{name}.factory", [folder]), model())
    assert run("x") == "x"
    with pytest.raises(hplint.apply.BoundaryError, match=r"a call of `mlp` does not fit .*unexpected keyword.*'scale'"):
        run("x", scale=2)


WRAPPERS = f"""
@inner_wrapper
def returns(target_module, {CONTEXT}):
    original = target_module.forward
    def forward(*args, **kwargs):
        return ("wrapped", original(*args, **kwargs))
    return forward

@inner_wrapper
def assigns(target_module, {CONTEXT}):
    target_module.companion = 1
    target_module.forward = lambda hidden_states, scale=1.0: "assigned"

@inner_wrapper
def nothing(target_module, {CONTEXT}):
    target_module.companion = 1

@inner_wrapper
def drops(target_module, {CONTEXT}):
    target_module.companion = 1
    target_module.forward = lambda hidden_states: "dropped"

@inner_wrapper
def number(target_module, {CONTEXT}):
    target_module.companion = 1
    return 3

@inner_wrapper
def raises(target_module, {CONTEXT}):
    target_module.forward = None
    raise ValueError("half-way")
"""


def test_a_wrapper_may_return_the_forward_or_assign_it_and_can_be_taken_away_again(source):
    name, folder = source(WRAPPERS)
    import torch

    for function, expected in (("returns", "wrapped"), ("assigns", "assigned")):
        root = model()
        before = dict(vars(root.mlp))
        undo = installed(wrapper(Call(f"{name}.{function}"), [folder]), root)
        result = root.mlp(torch.ones(1, 4))
        assert expected in (result if isinstance(result, str) else result[0])
        undo()
        assert vars(root.mlp) == before


def test_a_wrapper_may_leave_the_forward_alone(source):
    name, folder = source(WRAPPERS)
    root = model()
    installed(wrapper(Call(f"{name}.nothing"), [folder]), root)
    assert root.mlp.companion == 1
    assert "forward" not in vars(root.mlp)


def test_a_wrapper_goes_onto_a_child(source):
    name, folder = source(WRAPPERS)
    root = model()
    installed(wrapper(Call(f"{name}.returns"), [folder], on="core"), root)
    assert "forward" in vars(root.mlp.core)
    assert "forward" not in vars(root.mlp)


@pytest.mark.parametrize(
    "function, text",
    [
        ("drops", "makes a forward that cannot take `scale` by name, as the original can"),
        ("number", "returns a value of type `int`; it may return None or a forward"),
        ("raises", "fails: ValueError: half-way"),
    ],
)
def test_a_wrapper_that_fails_leaves_the_module_as_it_was(source, function, text):
    name, folder = source(WRAPPERS)
    assert text in _refused(wrapper(Call(f"{name}.{function}"), [folder]), installed)


@pytest.mark.parametrize(
    "on, text", [("coer", "`core` is near"), ("width", "no attribute `width`"), ("core.x", "no attribute `core.x`")]
)
def test_an_inner_target_that_is_no_module_is_refused(on, text):
    assert text in _refused(wrapper("sdpa_hf", on=on), installed)


@pytest.mark.parametrize(
    "target, text",
    [
        ("sdpa_hff", "`sdpa_hff` at `mlp` (plan.yaml:7) is no wrapper | `sdpa_hf` is near"),
        ("mla_dsa_ulysses", "is a wrapper of HyperParallel that has no equal here | `sdpa_hf`, `sdpa_qkv`"),
        ("sdpa_hf", "splits attention over the cp axis, but cp is 1 in this run | write `when: cp`"),
        (
            Call("hyper_parallel.distributed.context_parallel.wrappers.sdpa_hf_cp_wrapper"),
            "splits attention over the cp axis, but cp is 1 in this run | write `when: cp`",
        ),
        (
            Call("hyper_parallel.distributed.context_parallel.wrappers.sdpa_hf_load_balance_cp_wrapper"),
            "belongs to HyperParallel, which is not installed, and has no equal here",
        ),
    ],
)
def test_wrappers_of_hyper_parallel_run_here_or_say_what_does(target, text):
    assert text in _refused(wrapper(target), installed)


@pytest.mark.parametrize(
    "path",
    [
        "hyper_parallel.distributed.expert_parallel.recipes.mixtral_ep_compute_fn",
        "hyper_parallel.distributed.expert_parallel.recipes.routed_only_ep_compute_fn",
        "hyper_parallel.models.qwen3_moe.adapter.distributed.expert_parallel.qwen3moe_ep_compute_fn",
        "hplint.apply.experts.expert_parallel",
    ],
)
def test_recipes_of_hyper_parallel_run_here(path):
    assert "exchanges tokens over the ep axis, but ep is 1 in this run | write `when: ep`" in _refused(compute(path))


def test_an_installed_hyper_parallel_is_preferred(tmp_path, monkeypatch):
    package = tmp_path / "hyper_parallel"
    package.mkdir()
    (package / "__init__.py").write_text(f"""
def decorated(function):
    function._hp_kind = "local_compute"
    return function

@decorated
def mixtral_ep_compute_fn({CONTEXT}):
    return lambda module, hidden_states: "theirs"
""")
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        of = compute("hyper_parallel.mixtral_ep_compute_fn", [tmp_path])
        assert built(of, model())("x") == "theirs"
    finally:
        sys.modules.pop("hyper_parallel", None)


def test_what_only_the_own_factories_take_cannot_be_configured():
    told = _refused(compute("hplint.apply.experts.expert_parallel", note=SimpleNamespace()))
    assert "is configured with `note`, which is always filled in" in told
