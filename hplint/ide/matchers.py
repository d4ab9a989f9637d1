"""Problem matchers: how editors and CI find findings in the lines that ``--output-format concise`` prints."""

from typing import Any

_PAINT = r"(?:\x1b\[[0-9;]*m)*"
CONCISE = rf"^{_PAINT}(.+?):(\d+):(\d+){_PAINT}: {_PAINT}([A-Z]{{2,6}}\d{{3}}){_PAINT} (.+)$"
"""Path, line, column, code, message; with and without colours. JavaScript and .NET read it like Python."""
OWNER = "hplint"
BEGINS = r"hplint: checking"
ENDS = r"hplint: waiting for changes"
"""What ``--watch`` prints around each check."""


def github_matcher() -> dict[str, Any]:
    """The file that ``::add-matcher::`` of GitHub Actions reads."""
    groups = {"file": 1, "line": 2, "column": 3, "code": 4, "message": 5}
    return {"problemMatcher": [{"owner": OWNER, "severity": "error", "pattern": [{"regexp": CONCISE, **groups}]}]}


def vscode_matcher(background: bool = False) -> dict[str, Any]:
    """A ``problemMatcher`` of a VS Code task; ``background`` for one that runs ``--watch``."""
    groups = {"file": 1, "line": 2, "column": 3, "code": 4, "message": 5}
    matcher: dict[str, Any] = {
        "owner": OWNER,
        "source": OWNER,
        "severity": "error",
        "fileLocation": ["autoDetect", "${workspaceFolder}"],
        "pattern": {"regexp": CONCISE, **groups},
    }
    if background:
        matcher["background"] = {"activeOnStart": True, "beginsPattern": BEGINS, "endsPattern": ENDS}
    return matcher
