"""check --add-ignore and check --write-baseline: what is found is accepted, in comments or in a file."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hplint.cli.status import WRONG_REQUEST, exit_code
from hplint.cli.telling import tell
from hplint.errors import RequestError
from hplint.lint.collect import collect
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import Request, Run
from hplint.lint.session import Examined, Session
from hplint.lint.suppress import BY_NAME_ONLY
from hplint.plan.plan import Document
from hplint.report.deliver import Wishes
from hplint.report.errors import error_lines
from hplint.report.writer import Writer
from hplint.text.wording import plural, quote


def accept(asked: Request, given: dict[str, Any], wishes: Wishes, fail_on: str, out: Writer, err: Writer) -> int:
    """Do what the options say and report what is left; the exit code. Raises RequestError for options that make no
    sense together."""
    _refuse_mixed(given)
    if given["write_baseline"]:
        tell(run := write_baseline(asked), wishes, out, err)
        return exit_code(run, fail_on, given["exit_zero"])
    run, failed = add_comments(asked, _reason(given["reason"]), out, err)
    tell(run, wishes, err if "-" in asked.paths else out, err)
    return WRONG_REQUEST if failed else exit_code(run, fail_on, given["exit_zero"])


def _refuse_mixed(given: dict[str, Any]) -> None:
    options = [o for o in ("add_ignore", "write_baseline", "fix", "diff", "apply") if given.get(o)]
    if len(options) > 1:
        first, second = (f"--{o.replace('_', '-')}" for o in options[:2])
        raise RequestError(f"{first} and {second} exclude each other", "run them one after the other")
    if given["reason"] is not None and not given["add_ignore"]:
        raise RequestError("--reason says why findings are ignored, but --add-ignore is not given", "add --add-ignore")


def _reason(text: str | None) -> str:
    reason = (text or "").strip()
    if text is not None and (not reason or not reason.isprintable()):
        raise RequestError(f"--reason: {quote(text)} cannot stand in a comment", "write a few words on one line")
    if "#" in reason:
        raise RequestError(f"--reason: {quote(reason)} would begin another comment", "leave out the `#`")
    return reason


def add_comments(request: Request, reason: str, out: Writer, err: Writer) -> tuple[Run, bool]:
    """Write comments into the plans. What is left to find, and whether some file could not be written."""
    from hplint.fix.add_ignore import add_ignores

    session = Session(request)
    collected = collect(request.paths, request.stdin, request.stdin_filename, request.skip_planless)
    from_stdin = (request.stdin_filename or "-") if "-" in request.paths else None
    examined: list[Examined] = []
    left: list[str] = []
    ignored: list[int] = []
    failed = False
    text = request.stdin or b""
    for document in collected.documents:
        path, before = document.source.path, document.source.text
        added = add_ignores(document, session.engine.registry, partial(_told, session, path), reason)
        if added.text != before:
            problem = "" if path == from_stdin else _not_written(path, before, added.text)
            if problem:
                failed = True
                err.lines(error_lines(RequestError(problem), err.style))
            else:
                text = added.text.encode() if path == from_stdin else text
                document = _read(path, added.text)
                ignored.append(len(added.ignored))
        examined.append(session.examine(document))
        left += _left(path, [d for d in added.left if d.code not in BY_NAME_ONLY])
    if from_stdin is not None:
        out.raw(text)
        out.flush()
    return _run(session, examined, tuple(collected.without_plan), [*_ignored(ignored), *left]), failed


def _ignored(counts: list[int]) -> list[str]:
    if not counts:
        return []
    what = plural(sum(counts), "finding is", "findings are")
    return [f"{what} now ignored by comments in {plural(len(counts), 'file')}"]


def _told(session: Session, path: str, text: str) -> Sequence[Diagnostic]:
    return session.check_document(_read(path, text))[0]


def _read(path: str, text: str) -> Document:
    from hplint.front.read import read_document

    return read_document(path, text.encode())


def _not_written(path: str, before: str, after: str) -> str:
    """Write a file; what went wrong, or ""."""
    from hplint.fix.write import NotWritten, write_fixed

    try:
        write_fixed(path, before.encode(), after.encode())
    except NotWritten as problem:
        return f"{path} gets no comments: {problem.reason}"
    return ""


def _left(path: str, left: list[Diagnostic]) -> list[str]:
    if not left:
        return []
    what = plural(len(left), "finding")
    if path.endswith(".json"):
        return [f"{what} in {path} cannot be ignored by comments: JSON has none; use a baseline or --per-file-ignores"]
    return [f"{what} in {path} cannot be ignored on a line; `# hplint: ignore-file[…]` ignores rules in the whole file"]


def write_baseline(request: Request) -> Run:
    """Write all findings to the baseline; what it does not hold is left to find. Raises RequestError."""
    from collections import Counter

    from hplint.lint.baseline import NEVER, Baseline, read_baseline, spelled
    from hplint.report.writer import write_file

    path = request.baseline or (request.config.baseline if request.config else None)
    if not path:
        raise RequestError("--write-baseline needs a file", "name it with --baseline FILE, or in the configuration")
    old = read_baseline(path) if Path(path).exists() else Baseline(path, Counter())
    session = Session(replace(request, baseline=""))
    collected = collect(request.paths, request.stdin, request.stdin_filename, request.skip_planless)
    examined = [session.examine(document) for document in collected.documents]
    ran = {d.source.path: session.ran(d, e.plans) for d, e in zip(collected.documents, examined, strict=True)}
    found = [d for e in examined for d in e.diagnostics]
    known = old.renewed(found, ran, lambda file, code: ran[file](code))
    write_file(path, spelled(known))
    run = _run(session, examined, tuple(collected.without_plan), [_wrote(sum(known.values()), path)])
    kept = tuple(d for d in found if d.code in NEVER)
    return replace(run, diagnostics=kept, baselined=len(found) - len(kept))


def _wrote(count: int, path: str) -> str:
    return f"the baseline {path} holds {plural(count, 'finding')}"


def _run(session: Session, examined: list[Examined], without_plan: tuple[str, ...], notes: list[str]) -> Run:
    session.note_stale()
    return Run(
        files=len(examined),
        diagnostics=tuple(d for e in examined for d in e.diagnostics),
        plans=tuple(p for e in examined for p in e.plans),
        notes=(*notes, *session.notes),
        without_plan=without_plan,
        suppressed=sum(len(e.suppressed) for e in examined),
        baselined=sum(len(e.baselined) for e in examined),
    )
