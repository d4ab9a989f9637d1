"""A run made by hand, so that reports are tested without the rest of the flow."""

from hplint.lint.diagnostic import Diagnostic, Edit, Fix, Related
from hplint.lint.request import CheckedPlan, Run
from hplint.plan.entry import Entry
from hplint.plan.plan import Plan
from hplint.resolve.topology import Topology
from hplint.text.source import Source
from hplint.text.span import Span

TEXT = """\
plan_overrides:
- match: model.layers.*.mlp
  params:
    up_proj.weight: {tp: shrd(0)}
    down_proj.weight: {tp: shard(1)}
    up_proj.weight: {tp: shard(0)}
- match: model.layers.0.atn  # 注意
"""
SOURCE = Source("plans/llama.yaml", TEXT)
TOPOLOGY = Topology(tp=2, cp=1, ep=1, dp=2, mesh={"dp": 2, "tp": 2})


def span(token: str, nth: int = 0) -> Span:
    start = -1
    for _ in range(nth + 1):
        start = TEXT.index(token, start + 1)
    return Span(start, start + len(token))


def diagnostic(code: str, name: str, severity: str, message: str, place: Span, **more: object) -> Diagnostic:
    values = TOPOLOGY.to_json()
    return Diagnostic(code, name, severity, message, SOURCE, place, topology=values, **more)  # type: ignore[arg-type]


PLACEMENT = diagnostic(
    "HPL203", "not-a-placement", "error",
    "`shrd(0)` is not a placement: the run stops while it reads the configuration",
    span("shrd(0)"), match="model.layers.*.mlp", field="params", help="write `replicate`, `partial` or `shard(N)`",
    fixes=(Fix("Write `shard(0)`", True, (Edit(span("shrd(0)"), "shard(0)"),)),),
    fingerprint="HPL203:model.layers.*.mlp:params:1",
)  # fmt: skip
DUPLICATE = diagnostic(
    "HPL005", "duplicate-key", "error",
    "`up_proj.weight` stands twice in this mapping, and the last one silently wins: what the first one says is lost, "
    "whatever it says",
    span("up_proj.weight", 1), match="model.layers.*.mlp", field="params", help="remove one of the two",
    related=(Related("the first one", span("up_proj.weight")),), fingerprint="HPL005:model.layers.*.mlp:params:1",
)  # fmt: skip
MODULE = diagnostic(
    "HPL107", "overridden-entry", "warning", "line one of a message\nand its second line (in a and 1 more module)",
    span("model.layers.0.atn"), match="model.layers.0.atn", modules=("model.layers.0", "model.layers.1"),
    topology_note="with dp=2,tp=2", fingerprint="HPL107:model.layers.0.atn::1",
)  # fmt: skip
PLAN = Plan(SOURCE, "yaml", (Entry(0, Span(0, 0)), Entry(1, Span(0, 0))))
CHECKED = CheckedPlan("plans/llama.yaml", PLAN, TOPOLOGY, model="tree:llama.json")
RUN = Run(
    files=1,
    diagnostics=(PLACEMENT, DUPLICATE, MODULE),
    plans=(CHECKED,),
    notes=("no mesh sizes are known: rules that need them kept quiet",),
)
CLEAN = Run(files=1, plans=(CHECKED,))
