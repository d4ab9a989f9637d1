"""Which plans of a run are the sections of one ``tp_plan``: tp, the experts, the stages of a pipeline."""

from collections.abc import Sequence
from dataclasses import replace

from hplint.lint.request import CheckedPlan
from hplint.plan.style import TP_PLAN, Carrier
from hplint.resolve.topology import Topology


def sections(plans: Sequence[CheckedPlan]) -> list[CheckedPlan]:
    """The sections of one plan that count on its mesh, that of tp first; none where these are no sections of one plan.

    Stages of a pipeline never count, experts where their axis has two ranks or more. That axis lies on top of the mesh:
    the ranks that share experts are those of tp.
    """
    if any(c.plan.dialect != TP_PLAN for c in plans):
        return []
    laid = [replace(c, topology=_on_top(c.topology)) for c in plans]
    counting = [c for c in laid if _counts(c)]
    one = {(c.path, str(c.topology), c.model) for c in counting}
    names = [_section(c) for c in counting]
    if len(one) != 1 or len(set(names)) != len(names):
        return []
    return sorted(counting, key=lambda c: _section(c) != "tp")


def _section(checked: CheckedPlan) -> str:
    return (checked.plan.carrier or Carrier()).section


def _counts(checked: CheckedPlan) -> bool:
    section = _section(checked)
    return section == "tp" or (section == "ep" and (checked.topology.ep or 1) > 1)


def _on_top(topology: Topology) -> Topology:
    if not topology.has_ep_axis:
        return topology
    return replace(topology, mesh={a: n for a, n in topology.mesh.items() if a != "ep"})
