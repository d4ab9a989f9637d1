"""Placements: how one tensor lies along one mesh axis."""

import re
from functools import lru_cache
from typing import NamedTuple

_SHARD = re.compile(r"shard\s*\(\s*([0-9]{1,4000})\s*\)")


class Placement(NamedTuple):
    """``replicate``, ``partial`` (always a sum) or ``shard`` with a tensor dim (negative dims only come from Python
    objects and templates; the YAML grammar cannot write them)."""

    kind: str
    dim: int | None = None

    def __str__(self) -> str:
        return self.kind if self.dim is None else f"{self.kind}({self.dim})"

    @property
    def is_shard(self) -> bool:
        return self.kind == "shard"


REPLICATE = Placement("replicate")
PARTIAL = Placement("partial")


def shard(dim: int) -> Placement:
    """The placement that cuts tensor dim ``dim``."""
    return Placement("shard", dim)


@lru_cache(maxsize=512)
def parse(text: str) -> Placement | None:
    """Read the closed grammar replicate / partial / shard(N); case and white space do not count (R44).

    None where the text is no placement, ``shard(-1)`` included.
    """
    text = text.strip().lower()
    if text == "replicate":
        return REPLICATE
    if text == "partial":
        return PARTIAL
    match = _SHARD.fullmatch(text)
    return shard(int(match[1])) if match else None
