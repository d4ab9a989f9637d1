"""The mesh as people write it: ``dp=2,tp=4,cp=2``."""

from hplint.errors import RequestError
from hplint.resolve.topology import CANONICAL_AXES, FSDP_AXES
from hplint.text.near import near
from hplint.text.wording import listing, quote

MESH_AXES = tuple(dict.fromkeys((*CANONICAL_AXES, *FSDP_AXES)))
"""Names that a mesh axis may have, the common ones first."""


class MeshError(RequestError):
    """A mesh that cannot be read; the message says why, ``hint`` what to write instead."""


def parse_mesh(text: str) -> dict[str, int]:
    """Axis -> size, in the order written, which is the mesh order. Sizes of 1 are kept.

    Raises MeshError: nothing written, no ``axis=size``, an unknown axis (with near names), an axis twice, a size that
    is no whole number of at least 1.
    """
    if not text.strip():
        raise MeshError("the mesh is empty", "write axes and sizes, such as dp=2,tp=4")
    mesh: dict[str, int] = {}
    for part in text.split(","):
        axis, size = _pair(part, text)
        if axis in mesh:
            raise MeshError(f"mesh {quote(text)} has the axis {quote(axis)} twice")
        mesh[axis] = size
    return mesh


def spell_mesh(mesh: dict[str, int]) -> str:
    """The mesh as people write it."""
    return ",".join(f"{axis}={size}" for axis, size in mesh.items())


def _pair(part: str, text: str) -> tuple[str, int]:
    axis, equals, size = (piece.strip() for piece in part.partition("="))
    if not equals or not axis:
        raise MeshError(
            f"mesh {quote(text)}: {quote(part)} is not axis=size", "write axes and sizes, such as dp=2,tp=4"
        )
    if axis not in MESH_AXES:
        names = near(axis, MESH_AXES)
        hint = f"did you mean {listing(names, 'or')}?" if names else f"axes are {listing(MESH_AXES, most=99)}"
        raise MeshError(f"mesh {quote(text)}: there is no axis {quote(axis)}", hint)
    # isdecimal alone would let other scripts' digits pass, and int() reads signs and underscores.
    if not (size.isascii() and size.isdecimal()) or int(size[:9]) < 1 or len(size) > 9:
        raise MeshError(
            f"mesh {quote(text)}: the size of {quote(axis)} is {quote(size)}, not a whole number of at least 1"
        )
    return axis, int(size)
