"""Quick fixes: the same fixes that the command line applies, and comments that ignore a finding."""

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from hplint.fix.add_ignore import add_ignores
from hplint.fix.edit import difference
from hplint.fix.loop import Checked, fix_text
from hplint.fix.propose import Owners, Realiser
from hplint.ide.lsp.desk import Desk, Sheet
from hplint.ide.lsp.diagnostics import diagnostic
from hplint.lint.diagnostic import Diagnostic, Edit
from hplint.text.span import Span

FIX_ALL = "source.fixAll.hplint"
KINDS = (types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll, FIX_ALL)


def actions(
    sheet: Sheet, desk: Desk, range_: types.Range, only: Sequence[str] | None, encoding: str
) -> list[types.CodeAction]:  # fmt: skip
    """What can be done about the findings in a range, and the fix of all that is safe where it is asked for.

    That one is worked out when it is chosen (:func:`resolve`), unless the client asks for nothing else.
    """
    found: list[types.CodeAction] = []
    positions = sheet.positions(encoding)
    if _wanted(types.CodeActionKind.QuickFix, only):
        place = Span(positions.offset(range_.start), positions.offset(range_.end))
        here = [d for d in sheet.told if d.span.start <= place.end and place.start <= max(d.span)]
        found += _fixes(sheet, here, encoding)
        found += (a for d in here if (a := _ignore(sheet, desk, d, encoding)))
    if _wanted(FIX_ALL, only) and any(p.safe for d in sheet.told for p in d.proposals):
        every = types.CodeAction("Fix all that is safe (hplint)", FIX_ALL, data={"uri": sheet.uri})
        found.append(resolve(every, sheet, desk, encoding) if only else every)
    return found


def resolve(action: types.CodeAction, sheet: Sheet, desk: Desk, encoding: str) -> types.CodeAction:
    """Fill in the edit of the fix of everything."""

    def check(text: str) -> Checked:
        if text == sheet.source.text:
            return Checked(sheet.told, sheet.checked)
        return Checked(*desk.check_text(sheet, text))

    fixed = fix_text(sheet.source.text, check)
    action.edit = _edit(sheet, difference(sheet.source.text, fixed.text), encoding)
    return action


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    return not only or any(kind == o or kind.startswith(f"{o}.") for o in only)


def _fixes(sheet: Sheet, here: Sequence[Diagnostic], encoding: str) -> Iterator[types.CodeAction]:
    realiser, owners = Realiser(sheet.checked), Owners(sheet.checked)
    for found in here:
        for number, fix in enumerate(realiser.fixes(owners.of(found), found) if found.proposals else ()):
            yield types.CodeAction(
                title=fix.title if fix.safe else f"{fix.title} (unsafe)",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic(found, sheet, encoding)],
                is_preferred=True if fix.safe and number == 0 else None,
                edit=_edit(sheet, fix.edits, encoding),
            )


def _ignore(sheet: Sheet, desk: Desk, found: Diagnostic, encoding: str) -> types.CodeAction | None:
    """A comment that ignores one finding, where a comment can stand."""
    if sheet.document is None or sheet.session is None:
        return None

    def check(text: str) -> list[Diagnostic]:
        if text == sheet.source.text:
            return [found]
        same = (found.code, found.message)
        return [d for d in desk.check_text(sheet, text)[0] if (d.code, d.message) == same]

    added = add_ignores(sheet.document, sheet.session.engine.registry, check)
    if not added.edits:
        return None
    return types.CodeAction(
        title=f"Ignore {found.code} here",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(found, sheet, encoding)],
        edit=_edit(sheet, added.edits, encoding),
    )


def _edit(sheet: Sheet, edits: Iterable[Edit], encoding: str) -> types.WorkspaceEdit:
    positions = sheet.positions(encoding)
    return types.WorkspaceEdit(changes={sheet.uri: [types.TextEdit(positions.range(e.span), e.text) for e in edits]})
