"""--dry-run: what a plan costs on any mesh, without values and without other ranks."""

from typing import Any

from hplint.apply.errors import CannotApply
from hplint.apply.request import ApplyRequest


def dry_run(request: ApplyRequest) -> dict[str, Any]:
    """The machine output of a dry run; runs in a process of its own."""
    raise CannotApply("--dry-run is not there yet")
