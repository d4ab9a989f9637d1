"""hplint --apply: check a plan, and hand a clean one to the ranks."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hplint.apply.run.request import TIME_LIMIT, ApplyOptions, ApplyRequest, apply_request, check_options
from hplint.apply.run.torchrun import own_rank, running_ranks
from hplint.cli.status import CLEAN, FOUND, WRONG_REQUEST
from hplint.cli.telling import tell
from hplint.errors import RequestError
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import Request, Run
from hplint.report.deliver import Wishes
from hplint.report.writer import Writer, write_file


class Voice(NamedTuple):
    """Where the command speaks, and how."""

    wishes: Wishes
    out: Writer
    err: Writer


def apply_plan(asked: Request, given: dict[str, Any], wishes: Wishes, out: Writer, err: Writer) -> int:
    """Check, apply, report; the exit code."""
    running = running_ranks()
    options = _options(given)
    try:
        check_options(options, given, wishes.outputs.formats, running is not None)
        if options.applier == "hyper_parallel":
            from hplint.apply.run.hyper_parallel import require_hyper_parallel

            require_hyper_parallel()
    except RequestError as error:
        if own_rank():  # rank 0 tells it
            return error.exit_code
        raise
    voice = Voice(wishes, out, err)
    if running is not None:
        from hplint.apply.run.join import Ended, join

        try:
            result = join(lambda: _decide(asked, options, voice, running), options.time_limit)
        except Ended as end:
            return end.exit_code
    else:
        decided = _decide(asked, options, voice, None)
        if isinstance(decided, int):
            return decided
        from hplint.apply.run.launch import launch

        result = launch(decided)
    _report(result, voice)
    return CLEAN if result.get("verified", {}).get("agrees", True) else FOUND


def _options(given: dict[str, Any]) -> ApplyOptions:
    return ApplyOptions(
        nproc=given["nproc"],
        mode=given["mode"] or "local",
        verify=given["verify"],
        inputs=given["inputs"],
        dry_run=given["dry_run"],
        batch=given["batch"],
        applier=given["applier"] or "torch",
        seed=given["seed"] or 0,
        time_limit=given["time_limit"] or TIME_LIMIT,
        plan=given["plan"],
    )


def _decide(asked: Request, options: ApplyOptions, voice: Voice, running: int | None) -> ApplyRequest | int:
    """What the ranks are to do, or the exit code where the plan is refused and the model stays untouched."""
    from hplint.lint.session import lint

    run = lint(asked)
    if run.without_plan or any(d.severity == "error" for d in run.diagnostics):
        tell(run, voice.wishes, voice.out, voice.err)
        return WRONG_REQUEST if run.without_plan else FOUND
    if hidden := [d for p in run.plans for d in p.diagnostics if d.severity == "error"]:
        _tell_hidden(hidden, voice)
        return FOUND
    request = apply_request(run, options, running)
    _tell_warnings(run, voice)
    return request


def _tell_hidden(errors: Sequence[Diagnostic], voice: Voice) -> None:
    """Errors that comments or a baseline keep quiet: whoever accepts them cannot make them run."""
    from hplint.report.concise import concise

    voice.err.lines(concise(errors, voice.err.style))
    voice.err.lines(["not applied: these errors are ignored or in the baseline, and the plan cannot run with them"])
    voice.err.flush()


def _tell_warnings(run: Run, voice: Voice) -> None:
    from hplint.report.concise import concise

    if not voice.wishes.quiet:
        told = [d for d in run.diagnostics if d.severity == "warning" or voice.wishes.verbose]
        voice.err.lines(concise(told, voice.err.style))
        voice.err.flush()


def _report(result: dict[str, Any], voice: Voice) -> None:
    from hplint.report.apply_report import apply_report

    outputs = voice.wishes.outputs
    as_json = json.dumps(result, indent=2) + "\n"
    for form, path in outputs.files:
        plain = Writer(None).style
        write_file(path, as_json if form == "json" else "".join(f"{x}\n" for x in apply_report(result, plain)))
    if outputs.form == "json":
        voice.out.text(as_json)
    else:
        voice.out.lines(apply_report(result, voice.out.style, voice.wishes.verbose))
    voice.out.flush()
