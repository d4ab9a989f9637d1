"""Parameters that no template lays out: ``a_log`` and ``dt_bias`` hold one number a head, so they follow the heads."""

from collections.abc import Mapping

from hplint.apply.mesh.shares import Owners, layouts_of
from hplint.apply.plan import ApplyPlan, AxisLayout
from hplint.plan.placement import REPLICATE, shard

PER_HEAD = ("a_log", "dt_bias")


def special_layouts(plan: ApplyPlan, lengths: Mapping[str, int]) -> dict[str, AxisLayout]:
    """Layouts of special parameters that the plan does not lay out itself; ``lengths`` are the first dims of all
    parameters, by full name.

    One that counts heads is cut on dim 0 by tp where the region around it cuts a projection's output features there
    and the dim divides; all others are whole on every rank.
    """
    laid = layouts_of(plan)
    owners = Owners(plan)
    tp = plan.topology.size("tp") or 1
    found: dict[str, AxisLayout] = {}
    for name, handler in plan.special.items():
        region = owners.of(name)
        if name in laid or name not in lengths or region is None:
            continue
        boundary = plan.boundary(region)
        layouts = (boundary.params if boundary else {}).items()
        cuts = any(path.endswith(".weight") and layout.get("tp") == shard(0) for path, layout in layouts)
        follows = handler in PER_HEAD and cuts and lengths[name] % tp == 0
        found[name] = {axis: shard(0) if axis == "tp" and follows else REPLICATE for axis in plan.axes}
    return found
