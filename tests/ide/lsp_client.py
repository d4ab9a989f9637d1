"""A client of the language server that plays a script over real pipes. Whatever it waits for, it waits with a limit."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
LIMIT = 60
"""Seconds for one answer."""


class Client:
    """Starts a server and speaks with it. ``shown`` are messages for a person, ``progress`` what was told of builds.
    A ``bare`` client can do nothing but count columns."""

    def __init__(
        self,
        folder: Path,
        *,
        trusted: bool = True,
        encodings: tuple[str, ...] = ("utf-16",),
        bare: bool = False,
        roots: tuple[Path, ...] = (),
    ) -> None:
        variables = os.environ | {"PYTHONPATH": str(ROOT), "HPLINT_CACHE_DIR": str(folder / ".cache")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hplint", "server", "--stdio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables, cwd=folder,
        )  # fmt: skip
        self.folder = folder
        self.shown: list[str] = []
        self.progress: list[dict[str, Any]] = []
        self.registered: list[str] = []
        self.published: dict[str, list[dict[str, Any]]] = {}
        self.versions: dict[str, int | None] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._next = 0
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {
            "general": {"positionEncodings": list(encodings)},
            "window": {"workDoneProgress": True},
            "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}, "configuration": False},
            "textDocument": {"publishDiagnostics": {"relatedInformation": True}},
        }
        if bare:
            capabilities = {"general": capabilities["general"]}
        options = None if bare else {"trusted": trusted}
        folders = [{"uri": root.as_uri(), "name": root.name} for root in roots]
        self.server = self.ask(
            "initialize",
            {
                "processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities,
                "initializationOptions": options, "workspaceFolders": folders,
            },
        )  # fmt: skip
        self.tell("initialized", {})

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str, version: int = 1) -> list[dict[str, Any]]:
        """Open a document and wait for what is found in it."""
        language = "python" if name.endswith(".py") else "yaml"
        item = {"uri": self.uri(name), "languageId": language, "version": version, "text": text}
        self.published.pop(self.uri(name), None)
        self.tell("textDocument/didOpen", {"textDocument": item})
        return self.found(name)

    def change(self, name: str, text: str, version: int) -> list[dict[str, Any]]:
        """Replace a document's text and wait for what is found in it."""
        self.published.pop(self.uri(name), None)
        identifier = {"uri": self.uri(name), "version": version}
        self.tell("textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": text}]})
        return self.found(name)

    def edit(self, name: str, changes: list[dict[str, Any]], version: int) -> list[dict[str, Any]]:
        """Change ranges of a document and wait for what is found in it."""
        self.published.pop(self.uri(name), None)
        identifier = {"uri": self.uri(name), "version": version}
        self.tell("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})
        return self.found(name)

    def close(self, name: str) -> None:
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    def found(self, name: str, when: Callable[[list[dict[str, Any]]], bool] = lambda _: True) -> list[dict[str, Any]]:
        """The findings of a document, once there are some for which ``when`` holds."""
        uri = self.uri(name)
        self.wait(lambda: uri in self.published and when(self.published[uri]))
        return self.published[uri]

    def at(self, method: str, name: str, line: int, character: int, **more: Any) -> Any:
        """Ask about a position."""
        position = {"line": line, "character": character}
        return self.ask(
            f"textDocument/{method}", {"textDocument": {"uri": self.uri(name)}, "position": position, **more}
        )

    def actions(self, name: str, range_: dict[str, Any], only: list[str] | None = None) -> list[dict[str, Any]]:
        context = {"diagnostics": [], **({"only": only} if only else {})}
        parameters = {"textDocument": {"uri": self.uri(name)}, "range": range_, "context": context}
        return self.ask("textDocument/codeAction", parameters)  # type: ignore[no-any-return]

    def ask(self, method: str, parameters: Any) -> Any:
        """Send a request and wait for its answer."""
        self._next += 1
        number = self._next
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        self.wait(lambda: number in self._answers)
        answer = self._answers.pop(number)
        assert "error" not in answer, answer
        return answer["result"]

    def tell(self, method: str, parameters: Any) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": parameters})

    def wait(self, until: Callable[[], bool]) -> None:
        """Take in messages until something holds."""
        while not until():
            try:
                message = self._inbox.get(timeout=LIMIT)
            except queue.Empty:
                raise AssertionError("the server does not answer") from None
            assert message is not None, f"the server ended: {self.process.stderr and self.process.stderr.read()!r}"
            self._take(message)

    def settle(self) -> None:
        """Take in everything that was sent so far: an answer comes after all that was said before it."""
        self.ask(
            "textDocument/definition",
            {"textDocument": {"uri": "file:///none"}, "position": {"line": 0, "character": 0}},
        )

    def end(self) -> int:
        """Shut the server down; its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.process.wait(timeout=LIMIT)

    def leave(self) -> int:
        """Go without a word; the exit code."""
        self.tell("exit", None)
        return self.process.wait(timeout=LIMIT)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=LIMIT)

    def _take(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params")
        if method is None:
            self._answers[message["id"]] = message
        elif method == "textDocument/publishDiagnostics":
            self.published[parameters["uri"]] = parameters["diagnostics"]
            self.versions[parameters["uri"]] = parameters.get("version")
        elif method == "window/showMessage":
            self.shown.append(parameters["message"])
        elif method == "$/progress":
            self.progress.append(parameters["value"])
        elif method == "client/registerCapability":
            self.registered += [r["method"] for r in parameters["registrations"]]
        if method is not None and "id" in message:
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream
        while True:
            size = 0
            while (line := stream.readline().strip()) or not size:
                if not line and not size:
                    self._inbox.put(None)
                    return
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    size = int(value)
            self._inbox.put(json.loads(stream.read(size)))


def applied(text: str, action: dict[str, Any]) -> str:
    """A text after the edits of an action; columns count UTF-16 units."""
    lines = text.splitlines(keepends=True)

    def offset(position: dict[str, int]) -> int:
        line = lines[position["line"]] if position["line"] < len(lines) else ""
        before = line.encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le")
        return sum(map(len, lines[: position["line"]])) + len(before)

    (edits,) = action["edit"]["changes"].values()
    for edit in sorted(
        edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True
    ):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text
