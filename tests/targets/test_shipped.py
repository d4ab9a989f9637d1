"""The shipped functions, where HyperParallel is not installed."""

import pytest

from hplint.targets.find import TargetFinder
from hplint.targets.shipped import REGISTRY, TABLE, find_shipped, migration

WRAPPERS = "hyper_parallel.distributed.context_parallel.wrappers"
OLD = "hyper_parallel.auto_models.components"


@pytest.mark.parametrize("name", REGISTRY)
def test_every_registry_name_is_a_wrapper_that_needs_the_context_axis(name: str) -> None:
    shipped = find_shipped(name)
    assert shipped is not None
    assert shipped.mark == "inner_wrapper" and shipped.context
    assert find_shipped(f"{WRAPPERS}.{name}_cp_wrapper") == shipped


def test_functions_of_other_packages_are_not_taken_for_shipped_ones() -> None:
    assert find_shipped("mine.sdpa_hf_cp_wrapper") is None
    assert find_shipped("sdpa_hf_cp_wrapper") is None


@pytest.mark.parametrize(
    ("dotted", "hint"),
    [
        ("hyper_models.components.distributed.ep_compute.mixtral_ep_compute_fn", "recipes.mixtral_ep_compute_fn"),
        ("hyper_parallel.auto_models.components.distributed.cp_wrappers.sdpa_hf_cp_wrapper", WRAPPERS),
        ("hyper_models.components.distributed.ep_compute.hf_native_ep_compute_fn", "recipes"),
        ("hyper_parallel.distributed.expert_parallel.recipes.qwen3moe_ep_compute_fn", "expert_parallel.qwen3moe"),
        ("hyper_parallel.auto_models.components.distributed.cp_wrappers.my_own", WRAPPERS),
        (f"{OLD}.models.qwen3_moe_fusions.replace_qwen3_moe_rms_norm", "conversion.module_replacement"),
        (f"{OLD}.distributed.cp_wrappers.qwen3_moe_async_colossal_cp_wrapper", "qwen3_moe.adapter.distributed.context"),
        (f"{OLD}.distributed.my_package.my_own", "hyper_parallel.distributed"),
    ],
)
def test_paths_of_older_versions_come_with_what_to_write_instead(dotted: str, hint: str) -> None:
    assert hint in migration(dotted)


def test_nothing_is_advised_for_an_old_path_whose_new_place_is_unknown() -> None:
    assert migration(f"{OLD}.models.kimi_fusions.replace_kimi_norm") == ""


@pytest.mark.parametrize("shipped", TABLE.values(), ids=lambda s: s.name)
def test_no_shipped_path_counts_as_outdated(shipped: object) -> None:
    assert migration(shipped.dotted) == ""  # type: ignore[attr-defined]


def test_a_shipped_function_has_a_signature_without_source() -> None:
    reading = TargetFinder(environment=False).read(f"{WRAPPERS}.sdpa_hf_hybrid_cp_wrapper")
    (signature,) = reading.signatures
    assert signature.shipped and signature.requires("ulysses_degree") and signature.marks == {"inner_wrapper"}
    assert reading.effect.answer == "yes"


def test_an_installed_package_counts_more_than_the_table(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("site")
    package = folder / "hyper_parallel"
    package.mkdir()
    (package / "__init__.py").write_text("def sdpa_hf_cp_wrapper(target_module, *, extra): ...\n", encoding="utf-8")
    reading = TargetFinder([folder], environment=False).read("hyper_parallel.sdpa_hf_cp_wrapper")
    assert reading.signatures[0].names == ("target_module", "extra")
    assert not reading.signatures[0].shipped
