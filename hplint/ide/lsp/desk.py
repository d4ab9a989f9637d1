"""The open plans: each text with what the last check of it found."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hplint.config.config import Config
from hplint.config.load import find_config, read_config
from hplint.errors import HplintError
from hplint.front.plan_shape import is_about_plans
from hplint.front.read import may_hold_plan, read_document
from hplint.front.reread import Rereader
from hplint.ide.lsp.models import Models
from hplint.ide.lsp.positions import Positions
from hplint.ide.lsp.style_completion import StyleOffers, style_offers
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.pairing import Pairing
from hplint.lint.request import CheckedPlan, Request
from hplint.lint.session import Session, unavailable
from hplint.model.tree import ModuleTree
from hplint.plan.fault import Fault
from hplint.plan.plan import Document
from hplint.text.source import Source

_WORDS = ("x", "x: x", "}", "}}")
"""What may be missing at the cursor of a text that is no plan without it."""


class EditorSession(Session):
    """A session that never waits for a model: where one is not there yet, plans are checked without it."""

    models: Models

    def tree_of(self, pairing: Pairing) -> tuple[ModuleTree | None, tuple[Fault, ...]]:
        choice = pairing.model
        if choice is None:
            return None, ()
        found = self.models.find(choice, pairing.src, self.load)
        if found is None or isinstance(found, ModuleTree):
            return found, ()
        return None, (unavailable(choice, found),)


@dataclass
class Sheet:
    """One open text. ``plans`` are those of the last text that could be read, for completion in a broken one;
    ``reader`` knows what it has read of the text before."""

    uri: str
    source: Source
    version: int | None = None
    document: Document | None = None
    told: list[Diagnostic] = field(default_factory=list)
    checked: list[CheckedPlan] = field(default_factory=list)
    plans: list[CheckedPlan] = field(default_factory=list)
    session: EditorSession | None = None
    reader: Rereader = field(default_factory=Rereader)
    fresh: bool = False

    def positions(self, encoding: str) -> Positions:
        return Positions(self.source, encoding)


class Desk:
    """All open plans and the configurations that hold for them. ``complain`` tells a person what is wrong with a
    configuration, once for each state of it. ``roots`` are the folders of the workspace: the source of a plan's root is
    looked up there, as the command line does in the current folder."""

    def __init__(self, models: Models, complain: Callable[[str], None]) -> None:
        self.models = models
        self.complain = complain
        self.roots: list[str] = []
        self.sheets: dict[str, Sheet] = {}
        self._sessions: dict[tuple[str | None, str | None], EditorSession] = {}
        self._configs: dict[str, str | None] = {}

    def put(self, uri: str, path: str, text: str, version: int | None) -> Sheet:
        """Take in a text as it is now."""
        before = self.sheets.get(uri)
        sheet = Sheet(uri, Source(path, text), version)
        if before:
            sheet.plans, sheet.session, sheet.reader = before.plans, before.session, before.reader
        self.sheets[uri] = sheet
        return sheet

    def drop(self, uri: str) -> None:
        self.sheets.pop(uri, None)

    def check(self, sheet: Sheet) -> Sheet:
        """Check a text unless that was done already."""
        if sheet.fresh:
            return sheet
        sheet.fresh = True
        source = sheet.source
        data = source.text.encode("utf-8", "replace")
        sheet.session = session = self._session(source.path)
        sheet.told, sheet.checked, sheet.document = [], [], None
        if not may_hold_plan(data):
            sheet.plans = []
            return sheet
        document = sheet.reader.read(source.path, source.text)
        sheet.source = document.source
        sheet.document = document
        if document.plans or (document.faults and is_about_plans(source.text)):
            found = session.examine(document)
            sheet.told, sheet.checked = found.diagnostics, found.plans
            sheet.plans = found.plans or sheet.plans
        return sheet

    def known(self, sheet: Sheet, offset: int) -> list[CheckedPlan]:
        """What is known of a text that may be half typed at an offset: the plans of its last state that could be read,
        else of what it would be with a word there."""
        if sheet.checked or sheet.plans:
            return sheet.checked or sheet.plans
        text = sheet.source.text
        for word in _WORDS:
            _, plans = self.check_text(sheet, text[:offset] + word + text[offset:])
            if plans:
                sheet.plans = plans
                return plans
        return []

    def style_offers(self, sheet: Sheet, offset: int) -> StyleOffers | None:
        """What may stand at an offset of a plan of styles; None where none is there."""
        text = sheet.source.text
        if "p_plan" not in text and "Parallel" not in text:
            return None
        self.check(sheet)
        return style_offers(text, offset, sheet.checked, lambda other: self.check_text(sheet, other)[1])

    def check_text(self, sheet: Sheet, text: str) -> tuple[list[Diagnostic], list[CheckedPlan]]:
        """What a check finds in another text for the same file."""
        session = sheet.session or self._session(sheet.source.path)
        return session.check_document(read_document(sheet.source.path, text.encode("utf-8", "replace")))

    def stale(self) -> Iterator[Sheet]:
        """All sheets, to be checked again."""
        for sheet in self.sheets.values():
            sheet.fresh = False
            yield sheet

    def forget(self) -> None:
        """Configurations, models or injected functions may have changed on disk."""
        self._sessions.clear()
        self._configs.clear()
        self.models.forget()

    def _session(self, path: str) -> EditorSession:
        folder = str(Path(path).parent)
        if folder not in self._configs:
            found = find_config(Path(folder))
            self._configs[folder] = str(found) if found else None
        key = (self._configs[folder], self._root(folder))
        if key not in self._sessions:
            self._sessions[key] = self._new(*key)
        return self._sessions[key]

    def _root(self, folder: str) -> str | None:
        """The innermost root that a folder lies in, else the first one."""
        around = (r for r in self.roots if Path(folder).is_relative_to(r))
        return max(around, key=len, default=self.roots[0] if self.roots else None)

    def _new(self, config: str | None, root: str | None) -> EditorSession:
        here = root or "."
        try:
            read = read_config(Path(config)) if config else Config()
            session = EditorSession(Request(paths=(), here=here, config=read))
        except HplintError as error:
            self.complain(f"hplint: {one_line(error)}")
            session = EditorSession(Request(paths=(), here=here, config=Config()))
        session.models = self.models
        return session


def one_line(error: HplintError) -> str:
    """An error in one line."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
