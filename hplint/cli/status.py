"""Exit codes of a check."""

from hplint.lint.diagnostic import SEVERITIES
from hplint.lint.request import Run

CLEAN, FOUND, WRONG_REQUEST = 0, 1, 2


def exit_code(run: Run, fail_on: str = "warning", exit_zero: bool = False) -> int:
    """2 when a named path holds no plan, else 1 when a finding is at least as severe as ``fail_on``, else 0."""
    if run.without_plan:
        return WRONG_REQUEST
    failing = () if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    found = any(d.severity in failing for d in run.diagnostics)
    return FOUND if found and not exit_zero else CLEAN
