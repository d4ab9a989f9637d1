"""What a boundary's region needs at run time: its contract, its place among the others, and the meshes."""

from dataclasses import dataclass
from functools import cached_property

from hplint.apply.mesh.ledger import Note, Recorder
from hplint.apply.mesh.meshes import MeshAxis, Meshes
from hplint.apply.mesh.moves import Move, input_moves, output_moves
from hplint.apply.mesh.transition import Transition, gradient_layout
from hplint.apply.plan import ApplyBoundary, AxisLayout


@dataclass(frozen=True)
class Region:
    """One boundary of an applied model.

    ``shares`` are the axes along which its region works in shares, ``outer`` those of the region around it.
    ``axes`` are the active axes in mesh order.
    """

    boundary: ApplyBoundary
    axes: tuple[str, ...]
    meshes: Meshes
    shares: frozenset[str] = frozenset()
    outer: frozenset[str] = frozenset()
    recorder: Recorder | None = None

    @cached_property
    def inputs(self) -> tuple[Move, ...]:
        """The declared inputs."""
        return input_moves(self.boundary, self.axes)

    @cached_property
    def outputs(self) -> tuple[Move, ...]:
        """The declared outputs, by position."""
        return output_moves(self.boundary, self.axes)

    @cached_property
    def mesh_axes(self) -> dict[str, MeshAxis]:
        """Axis -> what this rank knows of it."""
        return {a: self.meshes.axis(a) for a in self.axes}

    def entering(self, move: Move) -> Transition:
        """What an input goes through."""
        return self._transition(move, self.outer, self.shares)

    def leaving(self, move: Move) -> Transition:
        """What an output goes through."""
        return self._transition(move, self.shares, self.outer)

    def note(self, name: str) -> Note:
        """How communication of ``name`` inside the region is recorded."""
        return Note(self.recorder, self.boundary.fqn, name)

    def turn(self, layout: AxisLayout, before: frozenset[str], after: frozenset[str], name: str = "") -> Transition:
        """A change of the gradient's meaning alone: the value stays as it is."""
        return self._transition(Move(name, 0, layout, layout), before, after)

    def _transition(self, move: Move, before: frozenset[str], after: frozenset[str]) -> Transition:
        return Transition(
            move.source,
            move.target,
            gradient_layout(move.source, before),
            gradient_layout(move.target, after),
            self.mesh_axes,
            self.note(move.name),
        )
