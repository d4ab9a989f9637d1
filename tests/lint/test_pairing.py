"""Pairing: where model, mesh and flags come from, and which place wins."""

from collections.abc import Mapping

from hplint.config.config import Config, PlanRule, PlanSettings
from hplint.front.read import read_document
from hplint.lint.pairing import Pairing, pair
from hplint.lint.request import Request

ENTRIES = "plan_overrides:\n  - match: model.norm\n    params: auto\n"
ACCELERATOR = "accelerator: {tp_size: 4, cp_size: 2, ep_size: 8, sequence_parallel: true}\n"


def paired(text: str, path: str = "plans/p.yaml", **asked: object) -> Pairing:
    document = read_document(path, text.encode())
    return pair(document, document.plans[0], Request((path,), **asked))  # type: ignore[arg-type]


def sizes(pairing: Pairing) -> list[Mapping[str, object]]:
    return [t.to_json() for t, _ in pairing.topologies]


def test_an_accelerator_section_gives_sizes_and_leaves_dp_unknown() -> None:
    (found,) = sizes(paired(ACCELERATOR + ENTRIES))
    assert (found["tp"], found["cp"], found["ep"], found["dp"]) == (4, 2, 8, None)
    assert found["sequence_parallel"] is True


def test_without_any_sizes_they_are_unknown() -> None:
    pairing = paired(ENTRIES)
    assert not pairing.sizes_known and sizes(pairing)[0]["tp"] is None


def test_an_axis_that_a_mesh_lacks_has_size_one() -> None:
    (found,) = sizes(paired(ENTRIES, meshes=({"dp": 2, "tp": 4},)))
    assert (found["tp"], found["cp"], found["dp"], found["ep"]) == (4, 1, 2, 1)


def test_every_mesh_that_was_asked_for_is_checked() -> None:
    assert [s["tp"] for s in sizes(paired(ENTRIES, meshes=({"tp": 2}, {"tp": 4})))] == [2, 4]


def test_the_command_line_beats_a_directive_which_beats_the_configuration() -> None:
    config = Config(defaults=PlanSettings(model="hf:config", mesh=({"tp": 8},)))
    directive = "# hplint: model=hf:directive mesh=tp=4\n"
    both = paired(directive + ENTRIES, config=config)
    assert both.model and both.model.spec == "hf:directive" and sizes(both)[0]["tp"] == 4
    asked = paired(directive + ENTRIES, config=config, model="hf:asked", meshes=({"tp": 2},))
    assert asked.model and asked.model.spec == "hf:asked" and sizes(asked)[0]["tp"] == 2
    neither = paired(ENTRIES, config=config)
    assert neither.model and neither.model.spec == "hf:config" and sizes(neither)[0]["tp"] == 8


def test_a_plans_table_of_the_configuration_holds_for_its_files_only() -> None:
    rule = PlanRule(("plans/*.yaml",), PlanSettings(model="hf:there"))
    config = Config(plans=(rule,), defaults=PlanSettings(model="hf:elsewhere"))
    inside, outside = paired(ENTRIES, config=config), paired(ENTRIES, "other/p.yaml", config=config)
    assert inside.model and inside.model.spec == "hf:there"
    assert outside.model and outside.model.spec == "hf:elsewhere"


def test_the_files_own_model_section_comes_last() -> None:
    pairing = paired("model: {pretrained_model_name_or_path: ./llama}\n" + ENTRIES)
    assert pairing.model and (pairing.model.spec, pairing.model.base, pairing.model.implied) == (
        "./llama",
        "plans",
        True,
    )


def test_sequence_parallel_is_off_for_yaml_and_on_for_python() -> None:
    python = "plan = {'model.norm': ModuleShardingSpec(params='auto')}\n"
    assert sizes(paired(ENTRIES))[0]["sequence_parallel"] is False
    assert sizes(paired(python, "p.py"))[0]["sequence_parallel"] is True


def faults(pairing: Pairing) -> list[tuple[str, object, object]]:
    return [(f.data["axis"], f.data["declared"], f.data["mesh"]) for _, own in pairing.topologies for f in own]


def test_a_mesh_that_disagrees_with_the_accelerator_section_is_a_fault() -> None:
    assert faults(paired(ACCELERATOR + ENTRIES, meshes=({"tp": 2, "cp": 2},))) == [("tp", 4, 2)]


def test_a_size_that_the_section_leaves_out_counts_as_one() -> None:
    assert faults(paired("accelerator: {tp_size: 2}\n" + ENTRIES, meshes=({"cp": 2, "tp": 2},))) == [("cp", 1, 2)]


def test_a_file_without_an_accelerator_section_never_disagrees() -> None:
    assert faults(paired(ENTRIES, meshes=({"tp": 2},))) == []


def test_an_expert_size_that_disagrees_is_a_fault_only_when_something_else_gives_it() -> None:
    assert faults(paired(ACCELERATOR + ENTRIES, ep=4)) == [("ep", 8, 4)]
    assert faults(paired(ACCELERATOR + ENTRIES, meshes=({"cp": 2, "tp": 4},))) == []


def test_a_mesh_directive_with_an_unknown_axis_is_a_fault_at_its_place() -> None:
    text = "# hplint: mesh=tpp=2\n" + ENTRIES
    (fault,) = paired(text).faults
    assert fault.rule == "wrong-type" and text[fault.span.start : fault.span.end] == "tpp=2"


def test_an_expert_size_that_disagrees_with_the_meshs_own_axis_is_one_fault() -> None:
    mesh = {"dp": 2, "tp": 2, "ep": 2}
    ((topology, faults),) = paired(ENTRIES, meshes=(mesh,), ep=4).topologies
    assert [(f.rule, f.data["declared"], f.data["mesh"], f.data["given"]) for f in faults] == [
        ("size-mismatch", 4, 2, True)
    ]
    assert topology.ep == 2
    ((_, faults),) = paired("accelerator: {tp_size: 2, ep_size: 4}\n" + ENTRIES, meshes=(mesh,), ep=4).topologies
    assert [(f.data["axis"], f.data["given"]) for f in faults] == [("ep", False)]


def test_an_expert_size_is_compared_with_no_axis_that_the_mesh_lacks() -> None:
    ((topology, faults),) = paired(ENTRIES, meshes=({"dp": 4, "tp": 2},), ep=4).topologies
    assert faults == () and topology.ep == 4
    assert paired(ENTRIES, meshes=({"dp": 2, "ep": 4},), ep=4).topologies[0][1] == ()


def test_a_size_that_is_interpolated_is_neither_missing_nor_one() -> None:
    text = "accelerator: {tp_size: ${tp}}\n".replace("{tp_size: ${tp}}", '{tp_size: "${tp}"}') + ENTRIES
    ((_, faults),) = paired(text, meshes=({"dp": 2, "tp": 2},)).topologies
    assert faults == ()
    assert sizes(paired(text))[0]["tp"] is None
