"""The schema in the editor that it is for: the language server behind VS Code's YAML extension, over stdio."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from checking import fixture_tree

from hplint.derive.derive import derive_boundaries
from hplint.ide.schema import plan_schema
from hplint.lint.registry import Registry
from hplint.resolve.topology import Topology

PROGRAM = shutil.which("yaml-language-server")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs yaml-language-server from npm on the PATH")
MLP = '- match: "*.mlp"\n'


class Client:
    """Just enough of the protocol: one document at a time, the server's questions answered with the settings."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        assert PROGRAM is not None
        self.process = subprocess.Popen([PROGRAM, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.settings = settings
        self.uri = (folder / "plan.yaml").as_uri()
        self.last = 0
        snippets = {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown"]}}
        able = {"workspace": {"configuration": True}, "textDocument": {"completion": snippets}}
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": able})
        self.tell("initialized", {})
        self.tell("workspace/didChangeConfiguration", {"settings": settings})

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        self.last += 1
        self._send({"id": self.last, "method": method, "params": params})
        return self._until(lambda m: m.get("id") == self.last and "method" not in m)["result"]

    def open(self, text: str) -> None:
        self.last += 1
        document = {"uri": self.uri, "languageId": "yaml", "version": self.last, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def diagnostics(self, text: str) -> list[tuple[int, str]]:
        self.open(text)
        found = self._until(lambda m: m.get("method") == "textDocument/publishDiagnostics")["params"]["diagnostics"]
        return [(d["range"]["start"]["line"], d["message"]) for d in found]

    def complete(self, text: str) -> dict[str, str]:
        """Label -> documentation, at the end of the text."""
        self.open(text)
        lines = text.split("\n")
        place = {"line": len(lines) - 1, "character": len(lines[-1])}
        found = self.ask("textDocument/completion", {"textDocument": {"uri": self.uri}, "position": place})
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri}})
        return {i["label"]: str(i.get("documentation")) for i in found["items"]}

    def hover(self, text: str, line: int, character: int) -> str:
        self.open(text)
        place = {"line": line, "character": character}
        found = self.ask("textDocument/hover", {"textDocument": {"uri": self.uri}, "position": place})
        return str(found["contents"]["value"])

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            message = self._receive()
            if wanted(message):
                return message
            if message.get("method") == "workspace/configuration":
                sections = [self.settings.get(item.get("section"), {}) for item in message["params"]["items"]]
                self._send({"id": message["id"], "result": sections})
            elif "id" in message and "method" in message:
                self._send({"id": message["id"], "result": None})

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("editor")
    tree, topology = fixture_tree("toy"), Topology(tp=4, cp=1, dp=2, mesh={"dp": 2, "tp": 4})
    schema = plan_schema(Registry(), tree, [topology], derive_boundaries(tree, topology))
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    settings = {"schemas": {(folder / "schema.json").as_uri(): ["*.yaml"]}, "schemaStore": {"enable": False}}
    client = Client(folder, {"yaml": settings | {"completion": True, "hover": True, "validate": True}})
    try:
        yield client
    finally:
        client.process.kill()
        client.process.wait()


def test_slips_are_marked_and_good_plans_are_not(editor: Client) -> None:
    assert editor.diagnostics(f"{MLP}  out_dst: {{output: {{tp: replicate}}}}\n") == []
    found = editor.diagnostics("plan_overrides:\n- match: model.layers.0.mpl\n  parms: {}\n")
    assert [line for line, _ in found] == [1, 2] and "parms" in found[1][1]


def test_modules_complete_with_their_classes(editor: Client) -> None:
    found = editor.complete("plan_overrides:\n  - match: ")
    assert found["model.norm"] == "LayerNorm, derived as norm"
    assert found['"*.mlp"'] == "GatedMLP, derived as mlp, 3 modules"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("", ["plan_overrides", "accelerator"]),
        (f"{MLP}  ", ["when", "params", "in_src", "inner_wrapper", "region_dispatch"]),
        (f"{MLP}  when: ", ["cp", "ep", "sequence_parallel"]),
        (f"{MLP}  inner_wrapper: ", ["sdpa_hf", "flex_qkv"]),
        (f"{MLP}  params:\n    ", ["gate_proj.weight", "up_proj.weight", "down_proj.weight"]),
        (f"{MLP}  in_src:\n    ", ["hidden_states"]),
        (f"{MLP}  in_src:\n    hidden_states:\n      ", ["tp", "cp", "ep"]),
        (f"{MLP}  in_src:\n    hidden_states:\n      tp: ", ["replicate", "partial", "shard(0)"]),
    ],
    ids=repr,
)
def test_keys_and_values_complete(editor: Client, text: str, offered: list[str]) -> None:
    assert set(offered) <= set(editor.complete(text))


def test_a_key_is_explained_by_its_rules(editor: Client) -> None:
    assert "**HPL104** unknown-parameter" in editor.hover(f"{MLP}  params: {{}}\n", 1, 4)
