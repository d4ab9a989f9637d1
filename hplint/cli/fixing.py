"""check --fix and check --diff: fixed plans go to their files, to the standard output, or into a diff."""

from hplint.cli.status import CLEAN, FOUND, WRONG_REQUEST
from hplint.errors import RequestError
from hplint.fix.run import FixedFile, fix
from hplint.lint.request import Request, Run
from hplint.report.errors import error_lines
from hplint.report.summary import fixable
from hplint.report.visible import printable
from hplint.report.writer import Writer
from hplint.text.wording import plural


def fix_plans(request: Request, unsafe: bool, out: Writer, err: Writer) -> tuple[Run, bool]:
    """Fix the plans of a request in place, the standard input onto the standard output. What is left to find, and
    whether some file could not be written."""
    from hplint.fix.write import NotWritten, write_fixed

    from_stdin = (request.stdin_filename or "-") if "-" in request.paths else None
    text = request.stdin or b""
    failed = False

    def accept(file: FixedFile) -> bool:
        nonlocal text, failed
        if file.path == from_stdin:
            text = file.after.encode()
            return True
        try:
            write_fixed(file.path, file.before.encode(), file.after.encode())
        except NotWritten as problem:
            message = f"{file.path} is not fixed: {problem.reason}"
            if problem.changed:
                err.lines([f"{err.style.paint('note:', 'info')} {printable(message, err.style)}"])
            else:
                failed = True
                err.lines(error_lines(RequestError(message), err.style))
            return False
        return True

    run = fix(request, unsafe, accept).run
    if from_stdin is not None:
        out.raw(text)
        out.flush()
    return run, failed


def show_diff(request: Request, unsafe: bool, quiet: bool, out: Writer, err: Writer) -> int:
    """Show what fixing would change; nothing is written. The exit code is 1 where something would change."""
    from hplint.fix.diff import unified

    result = fix(request, unsafe)
    for file in result.changed:
        for line in unified(file.path, file.before, file.after):
            role = {"-": "error", "+": "good", "@": "dim"}.get(line[0])
            body = line[:-1]
            out.raw(f"{out.style.paint(body, role) if role else body}\n".encode())
    out.flush()
    if not quiet:
        err.lines(_told(result.run, unsafe))
    for path in result.run.without_plan:
        err.lines(error_lines(RequestError(f"no plan in {path}"), err.style))
    err.flush()
    if result.run.without_plan:
        return WRONG_REQUEST
    return FOUND if result.changed else CLEAN


def _told(run: Run, unsafe: bool) -> list[str]:
    if run.fixed:
        first = f"Would fix {plural(run.fixed, 'finding')} in {plural(run.fixed_files, 'file')}."
    else:
        first = "Nothing to fix."
    rest = fixable(run, unsafe)
    return [first, rest] if rest else [first]
