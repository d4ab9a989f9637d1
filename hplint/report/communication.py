"""What a change of layout does on the wire, in words (facts 2: the collectives that placements stand for)."""

from collections.abc import Iterator, Mapping

from hplint.plan.placement import Placement, parse


def communication(source: Placement, destination: Placement, axis: str) -> str:
    """What takes a tensor from one placement to another on one axis; "" where nothing is to be done."""
    if source == destination:
        return ""
    match source.kind, destination.kind:
        case "shard", "replicate":
            return f"{axis} all-gather dim {source.dim}"
        case "shard", "shard":
            return f"{axis} all-to-all dim {source.dim} to dim {destination.dim}"
        case "partial", "replicate":
            return f"{axis} all-reduce"
        case "partial", "shard":
            return f"{axis} reduce-scatter dim {destination.dim}"
        case "replicate", "shard":
            return f"{axis} slice dim {destination.dim}"
    return ""


def communications(source: Mapping[str, str], destination: Mapping[str, str]) -> Iterator[str]:
    """What one tensor goes through, axis by axis, from its layouts as the JSON form spells them. Axes on which one
    side is unknown are left out."""
    for axis, spelled in source.items():
        before, after = _placement(spelled), _placement(destination.get(axis, ""))
        if before and after and (text := communication(before, after, axis)):
            yield text


def _placement(spelled: str) -> Placement | None:
    # The grammar of plans has no negative dims, but derived layouts do.
    if spelled.startswith("shard(-"):
        return Placement("shard", int(spelled[6:-1]))
    return parse(spelled)
