"""The page of ``hplint report``: one file that needs nothing else, neither a network nor a server."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parent / "page_assets"
SCRIPTS = ("elements.js", "view.js", "filter.js", "tree.js", "panes.js", "source.js", "costs.js", "page.js")
"""One scope of functions, in the order in which they build on each other."""
_SLOT = re.compile(r"%([A-Z]+)%")


def plan_page(data: dict[str, Any]) -> str:
    """The whole page. Its own script and style are the only ones that a browser will run."""
    style = _asset("page.css")
    script = '"use strict";\n(() => {\n' + "".join(map(_asset, SCRIPTS)) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    parts = {
        "POLICY": html.escape(policy),
        "TITLE": html.escape(_title(data)),
        "STYLE": style,
        "DATA": embedded(data),
        "SCRIPT": script,
    }
    # One pass: a plan's own text may well hold what looks like a slot.
    return _SLOT.sub(lambda slot: parts[slot[1]], _asset("page.html"))


def embedded(data: dict[str, Any]) -> str:
    """JSON that may stand inside a script element, whatever its texts hold."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _title(data: dict[str, Any]) -> str:
    names = [plan["path"] for plan in data["plans"]] or ["no plan"]
    return f"{names[0]} – hplint" if len(names) == 1 else f"{len(names)} plans – hplint"


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
