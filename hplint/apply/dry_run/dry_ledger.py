"""What one step communicates, added up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hplint.apply.experts.exchange import BALANCED
from hplint.apply.mesh.ledger import Communication


class Kind(NamedTuple):
    """Calls that are told as one row: ``name`` is the input, output or parameter that moves."""

    boundary: str
    name: str
    direction: str
    collective: str
    axis: str


@dataclass(slots=True)
class Ledger:
    """A :class:`~hplint.apply.mesh.ledger.Recorder` that counts: ``rows`` maps kinds to calls and bytes, in the order
    in which they come first."""

    rows: dict[Kind, tuple[int, int]] = field(default_factory=dict)

    def record(self, communication: Communication) -> None:
        """Count one call."""
        *kind, size = communication
        self._add(Kind(*kind), 1, size)

    def _add(self, kind: Kind, calls: int, size: int) -> None:
        before = self.rows.get(kind, (0, 0))
        self.rows[kind] = (before[0] + calls, before[1] + size)

    def repeat(self, modules: Mapping[str, str]) -> None:
        """Count what a module sent once more for each of those that it stood for: FQN of another one -> its own."""
        sources: dict[str, list[str]] = {}
        for other, source in modules.items():
            sources.setdefault(source, []).append(other)
        for kind, (calls, size) in list(self.rows.items()):
            for source, others in sources.items():
                if kind.boundary == source or kind.boundary.startswith(f"{source}."):
                    for other in others:
                        self._add(kind._replace(boundary=other + kind.boundary[len(source) :]), calls, size)

    def boundaries(self) -> dict[str, list[dict[str, Any]]]:
        """FQN -> its rows as machine output."""
        found: dict[str, list[dict[str, Any]]] = {}
        for kind, (calls, size) in self.rows.items():
            row = {**kind._asdict(), "count": calls, "bytes": size, "estimated": kind.name in BALANCED}
            found.setdefault(str(row.pop("boundary")), []).append(row)
        return found


def totals(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows added up by axis, direction and collective."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for row in rows:
        sums = found.setdefault((row["axis"], row["direction"], row["collective"]), [0, 0])
        sums[0] += row["count"]
        sums[1] += row["bytes"]
    return [
        {"axis": axis, "direction": direction, "collective": collective, "count": count, "bytes": size}
        for (axis, direction, collective), (count, size) in sorted(found.items(), key=lambda item: _order(item[0]))
    ]


def _order(key: tuple[str, str, str]) -> tuple[str, bool, str]:
    axis, direction, collective = key
    return axis, direction != "forward", collective
