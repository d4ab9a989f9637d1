"""A whole run with fixes: every document of a request is checked, fixed and checked again."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hplint.fix.loop import Checked, fix_text
from hplint.front.read import read_document
from hplint.lint.collect import collect
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.request import CheckedPlan, Request, Run
from hplint.lint.session import Session
from hplint.plan.plan import Document


@dataclass(slots=True)
class FixedFile:
    """What became of one file. ``done`` are the findings that went away, as they were before."""

    path: str
    before: str
    after: str
    done: list[Diagnostic] = field(default_factory=list)


@dataclass(slots=True)
class FixRun:
    """What a check finds after fixing, and the files that changed."""

    run: Run
    changed: list[FixedFile] = field(default_factory=list)


def fix(request: Request, unsafe: bool, accept: Callable[[FixedFile], bool] = lambda file: True) -> FixRun:
    """Fix everything that the request names. ``accept`` is called with every text that changed, and says whether the
    change counts (it may have been impossible to write it): if not, the findings of the old text are reported.

    Raises RequestError where the request itself is wrong.
    """
    session = Session(request)
    collected = collect(request.paths, request.stdin, request.stdin_filename, request.skip_planless)
    diagnostics: list[Diagnostic] = []
    plans: list[CheckedPlan] = []
    changed: list[FixedFile] = []
    hidden = [0, 0]
    for document in collected.documents:
        last = document
        found, of_file, file = _fix_document(session, document, unsafe)
        if file is not None:
            if accept(file):
                changed.append(file)
                last = read_document(file.path, file.after.encode())
            else:
                found, of_file = session.check_document(document)
        diagnostics += found
        plans += of_file
        if session.baseline or last.suppressions:
            quiet = session.examine(last)
            hidden = [hidden[0] + len(quiet.suppressed), hidden[1] + len(quiet.baselined)]
    session.note_stale()
    run = Run(
        files=len(collected.documents),
        diagnostics=tuple(diagnostics),
        plans=tuple(plans),
        notes=tuple(session.notes),
        without_plan=tuple(collected.without_plan),
        fixed=sum(len(f.done) for f in changed),
        fixed_files=len(changed),
        suppressed=hidden[0],
        baselined=hidden[1],
    )
    return FixRun(run, changed)


def _fix_document(
    session: Session, document: Document, unsafe: bool
) -> tuple[list[Diagnostic], list[CheckedPlan], FixedFile | None]:  # fmt: skip
    first = session.check_document(document)
    source = document.source
    # Without a plan the text may not even be what the file holds: it was not UTF-8, say.
    if not document.plans or not any(d.proposals for d in first[0]):
        return *first, None

    def check(text: str) -> Checked:
        if text == source.text:
            return Checked(*first)
        return Checked(*session.check_document(read_document(source.path, text.encode())))

    fixed = fix_text(source.text, check, unsafe)
    file = FixedFile(source.path, source.text, fixed.text, fixed.done) if fixed.text != source.text else None
    return list(fixed.checked.diagnostics), list(fixed.checked.plans), file
