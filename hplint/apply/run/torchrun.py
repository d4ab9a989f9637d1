"""Whether this process is one of several ranks that torchrun started."""

import os


def running_ranks() -> int | None:
    """The number of ranks that torchrun started, None without it."""
    if all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        size = os.environ["WORLD_SIZE"]
        return int(size) if size.isdecimal() else None
    return None


def own_rank() -> int:
    """This process's rank under torchrun, 0 without it."""
    return int(os.environ["RANK"]) if running_ranks() else 0
