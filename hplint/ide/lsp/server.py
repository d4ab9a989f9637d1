"""hplint server: the protocol's requests and notifications, over standard input and output."""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from hplint import __version__
from hplint.errors import HplintError
from hplint.ide.lsp.actions import FIX_ALL, KINDS, actions, resolve
from hplint.ide.lsp.completion import completions, style_completions
from hplint.ide.lsp.definition import definitions
from hplint.ide.lsp.desk import Desk, Sheet, one_line
from hplint.ide.lsp.diagnostics import diagnostics
from hplint.ide.lsp.hover import hover
from hplint.ide.lsp.models import Models
from hplint.ide.lsp.positions import edited
from hplint.ide.lsp.protocol import PlanProtocol

PAUSE = 0.05
"""Seconds without a keystroke after which a text is checked."""
WATCHED = ("**/pyproject.toml", "**/hplint.toml", "**/config.json", "**/*.py", "**/*.json")
"""Files that plans are checked against, accepted findings included."""
PLANS = (".yaml", ".yml")
"""Files that are plans and nothing that others are checked against."""


class PlanServer(LanguageServer):
    """One server: the open plans, and what waits to be checked."""

    def __init__(self) -> None:
        super().__init__("hplint", f"v{__version__}", types.TextDocumentSyncKind.Incremental, protocol_cls=PlanProtocol)
        self.desk = Desk(Models(False, self._begins, self._ends, self._untrusted), self._complain)
        self.waiting: dict[str, asyncio.TimerHandle] = {}
        self.loop: asyncio.AbstractEventLoop | None = None
        self.begun: dict[str, Future[Any]] = {}
        self.took: dict[str, float] = {}
        """Seconds that the last check of a text took."""
        self.is_over = False
        """Whether the client has asked for the end."""

    @property
    def encoding(self) -> str:
        """The units in which the client counts columns."""
        return str(types.PositionEncodingKind(self.server_capabilities.position_encoding or "utf-16").value)

    def take(self, uri: str, text: str, version: int | None, pause: float = PAUSE) -> None:
        """Take in a text and check it soon: keystrokes that follow at once are checked together, those of a text that
        takes long to check for longer."""
        self.desk.put(uri, path_of(uri), text, version)
        self.later(uri, max(pause, self.took.get(uri, 0)) if pause else 0)

    def later(self, uri: str, pause: float = PAUSE) -> None:
        """Check a text after a pause; a check that waits already is put off."""
        self.loop = asyncio.get_running_loop()
        if handle := self.waiting.pop(uri, None):
            handle.cancel()
        self.waiting[uri] = self.loop.call_later(pause, self.publish, uri)

    def publish(self, uri: str) -> None:
        """Check a text now and tell what is found."""
        if handle := self.waiting.pop(uri, None):
            handle.cancel()
        sheet = self.desk.sheets.get(uri)
        if sheet is None:
            return
        start = time.perf_counter()
        try:
            self.desk.check(sheet)
            found = diagnostics(sheet, self.encoding)
        except HplintError as error:
            self._complain(f"hplint: {one_line(error)}")
            return
        except Exception as error:  # A fault of ours must not end the session of an editor.
            # What was found before stays: an empty list would say that all is well.
            self._complain(f"hplint: a fault of hplint itself: {type(error).__name__}: {error}")
            return
        self.took[uri] = time.perf_counter() - start
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, sheet.version))

    def sheet(self, uri: str) -> Sheet | None:
        """An open text, checked."""
        if uri in self.waiting:
            self.publish(uri)
        sheet = self.desk.sheets.get(uri)
        return self.desk.check(sheet) if sheet else None

    def again(self) -> None:
        """Check all open texts again."""
        for sheet in list(self.desk.stale()):
            self.later(sheet.uri, 0)

    def _complain(self, text: str) -> None:
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, text))

    def _untrusted(self, spec: str) -> None:
        text = (
            f"hplint builds no model in a workspace that is not trusted: {spec} is known only where it was built before"
        )
        self.window_show_message(types.ShowMessageParams(types.MessageType.Info, text))

    def _begins(self, token: str, spec: str) -> None:
        if self._has_progress():
            title = types.WorkDoneProgressBegin(title=f"hplint: building {spec}", cancellable=False)
            created = self.work_done_progress.create(token)
            created.add_done_callback(lambda _: self.work_done_progress.begin(token, title))
            self.begun[token] = created

    def _ends(self, token: str, spec: str) -> None:
        """Called from the thread that built the model."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self._built, token)

    def _built(self, token: str) -> None:
        if created := self.begun.pop(token, None):
            # A build may be done before the client has answered that it will show one.
            created.add_done_callback(lambda _: self.work_done_progress.end(token, types.WorkDoneProgressEnd()))
        self.again()

    def _has_progress(self) -> bool:
        window = self.client_capabilities.window
        return bool(window and window.work_done_progress)


def path_of(uri: str) -> str:
    """The path of a document; texts that were never saved go by their URI."""
    parts = urlparse(uri)
    if parts.scheme != "file":
        return unquote(parts.path or uri)
    path = unquote(parts.path)
    return path[1:] if os.name == "nt" and path[2:3] == ":" else path


def serve() -> int:
    """Serve one client until it says exit. The exit code is 0 if it asked for the end before, else 1, as the protocol
    has it."""
    server = make_server()
    server.start_io()
    return 0 if server.is_over else 1


def make_server() -> PlanServer:
    """A server with all its features."""
    server = PlanServer()
    for add in (_add_texts, _add_answers, _add_workspace):
        add(server)
    return server


Feature = Callable[..., Any]


def _add_texts(server: PlanServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        server.take(item.uri, item.text, item.version, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if sheet := server.desk.sheets.get(uri):
            text = edited(sheet.source.text, params.content_changes, server.encoding)
            server.take(uri, text, params.text_document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        if sheet := server.desk.sheets.get(params.text_document.uri):
            server.later(sheet.uri, 0)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if handle := server.waiting.pop(uri, None):
            handle.cancel()
        server.took.pop(uri, None)
        server.desk.drop(uri)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _add_answers(server: PlanServer) -> None:
    options = types.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def act(params: types.CodeActionParams) -> list[types.CodeAction]:
        sheet = server.sheet(params.text_document.uri)
        if sheet is None:
            return []
        return actions(sheet, server.desk, params.range, params.context.only, server.encoding)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def finish(action: types.CodeAction) -> types.CodeAction:
        uri = action.data.get("uri") if isinstance(action.data, dict) else None
        sheet = server.sheet(uri) if uri else None
        if sheet is None or action.kind != FIX_ALL:
            return action
        return resolve(action, sheet, server.desk, server.encoding)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def explain(params: types.HoverParams) -> types.Hover | None:
        sheet = server.sheet(params.text_document.uri)
        if sheet is None:
            return None
        positions = sheet.positions(server.encoding)
        told = hover(sheet, positions.offset(params.position))
        if told is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, told[0]), positions.range(told[1]))

    triggers = types.CompletionOptions(trigger_characters=[".", ":", " ", "{", "[", ","])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, triggers)
    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        uri = params.text_document.uri
        sheet = server.desk.sheets.get(uri)
        if sheet is None:
            return []
        offset = sheet.positions(server.encoding).offset(params.position)
        if found := server.desk.style_offers(sheet, offset):
            return style_completions(sheet, found, offset, server.encoding)
        if sheet.source.path.endswith(".py"):
            return []
        if not sheet.plans:
            # Else what was known before the last letters will do.
            server.sheet(uri)
        return completions(sheet, server.desk.known(sheet, offset), offset, server.encoding)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def define(params: types.DefinitionParams) -> list[types.Location]:
        sheet = server.sheet(params.text_document.uri)
        if sheet is None:
            return []
        return definitions(sheet, sheet.positions(server.encoding).offset(params.position))


def _add_workspace(server: PlanServer) -> None:
    @server.feature(types.INITIALIZE)
    async def begin(params: types.InitializeParams) -> None:
        server.desk.models.trusted = _trusted(params.initialization_options)
        roots = [f.uri for f in params.workspace_folders or ()] or [params.root_uri or ""]
        server.desk.roots = [path_of(uri) for uri in roots if uri.startswith("file:")]

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        gone = {path_of(f.uri) for f in params.event.removed}
        kept = [r for r in server.desk.roots if r not in gone]
        server.desk.roots = [*kept, *(path_of(f.uri) for f in params.event.added if f.uri.startswith("file:"))]
        server.desk.forget()
        server.again()

    @server.feature(types.SHUTDOWN)
    async def end(*_: Any) -> None:
        server.is_over = True

    @server.feature(types.INITIALIZED)
    async def ready(_: types.InitializedParams) -> None:
        files = server.client_capabilities.workspace and server.client_capabilities.workspace.did_change_watched_files
        if files and files.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            one = types.Registration("hplint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            server.client_register_capability(types.RegistrationParams([one]))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings.get("hplint", params.settings) if isinstance(params.settings, dict) else {}
        if isinstance(settings, dict) and "trusted" in settings:
            server.desk.models.trusted = bool(settings["trusted"])
            server.desk.models.refused.clear()
        server.again()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        # An open plan is checked from its text; what is open of the rest was read from the disk, and counts once saved.
        if any(not c.uri.endswith(PLANS) or c.uri not in server.desk.sheets for c in params.changes):
            server.desk.forget()
            server.again()


def _trusted(options: Any) -> bool:
    found = options.get("trusted") if isinstance(options, dict) else getattr(options, "trusted", None)
    return found is True
