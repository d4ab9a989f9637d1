"""Telling what a run found: fixes as edits where a format tells them, and then the report."""

from hplint.lint.request import Run
from hplint.report.deliver import Wishes, deliver
from hplint.report.writer import Writer


def tell(run: Run, wishes: Wishes, out: Writer, err: Writer) -> None:
    """Deliver a run's report. Working fixes out takes time, so it is done for those formats alone that tell them."""
    if wishes.outputs.needs_fixes and not wishes.statistics:
        from hplint.fix.propose import realise_all

        run = realise_all(run)
    deliver(run, wishes, out, err)
