"""Runs with everything that some format could trip over."""

from dataclasses import replace

from report_samples import CHECKED, DUPLICATE, MODULE, PLACEMENT, diagnostic

from hplint.lint.diagnostic import Diagnostic, Edit, Fix, Related
from hplint.lint.request import Run
from hplint.text.source import Source
from hplint.text.span import Span

MESSAGE = (
    "50% of `a,b:c`\nnext\r\n\ttab ]]> <b> & \"q\" 'x' | \x1b[31m \x00 𝕏 \u200b ::error::x ##[error]y [a](1) {0} "
    "\ud800 \ufffe \\"
)
TEXT = "\ufeff- match: 𝕏é a  # first\r\n  params: {中: x}\r- match: b\n"
ODD_PATH = "C:\\plans\\50%,a:b<&> é\udcff.yaml"
ODD_SOURCE = Source(ODD_PATH, TEXT)
FIRST, SECOND = TEXT.index("a  #"), TEXT.index("x}")
ODD = Diagnostic(
    "HPL101", "unknown-module", "error", MESSAGE, ODD_SOURCE, Span(FIRST, FIRST + 1), match="[a]",
    modules=("layers[0]",), field="params", related=(Related("here, 100%: [a](b)", Span(SECOND, SECOND + 1)),),
    help="did you mean `é`?", topology_note="with dp=2,tp=2", fingerprint="HPL101:[a]:params:1",
    fixes=(
        Fix("Write `𝕐` and `y`", False, (Edit(Span(SECOND, SECOND + 1), "y"), Edit(Span(FIRST, FIRST + 1), "𝕐"))),
        Fix("Insert", True, (Edit(Span(len(TEXT), len(TEXT)), "  when: cp\n"),)),
    ),
)  # fmt: skip
TALL = replace(PLACEMENT, span=Span(DUPLICATE.related[0].span.start, DUPLICATE.span.end), help="")
"""From the third line to the sixth."""
NOWHERE = Diagnostic(
    "HPL801", "mesh-mismatch", "info", "no place", Source("plans/empty.yaml", ""), fingerprint="HPL801:::1"
)
STDIN = replace(MODULE, source=Source("-", MODULE.source.text))
UNKNOWN = replace(PLACEMENT, code="ACME001", name="their-rule", severity="info", url="https://acme.example/ACME001")
ODD_RUN = Run(
    files=4, diagnostics=(ODD, TALL, NOWHERE, STDIN, UNKNOWN), plans=(CHECKED, replace(CHECKED, path=ODD_PATH)),
    notes=("a note [a](1)",), without_plan=("notes.yaml",),
)  # fmt: skip
EMPTY = Run()


def many(errors: int, warnings: int = 0, infos: int = 0) -> Run:
    """A run with so many findings, the mildest first."""
    severities = ["info"] * infos + ["warning"] * warnings + ["error"] * errors
    found = [diagnostic("HPL203", "not-a-placement", s, f"{s} {n}", PLACEMENT.span) for n, s in enumerate(severities)]
    return Run(files=1, diagnostics=tuple(found), plans=(CHECKED,))
