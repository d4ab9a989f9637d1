"""How long the language server needs to check a plan of 2,000 lines again, warm: reading and checking, beside the YAML
parser's own pass over the text. Prints milliseconds, the best of several rounds.

    python benchmarks/server_recheck.py
"""

import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import yaml

from hplint.front.read import read_document
from hplint.front.reread import Rereader
from hplint.lint.request import Request
from hplint.lint.session import Session

ROOT = Path(__file__).parent.parent
ENTRY = """\
- match: model.layers.{layer}.self_attn
  params:
    q_proj.weight: {{tp: shard(0)}}
    k_proj.weight: {{tp: shard(0)}}
    v_proj.weight: {{tp: shard(0)}}
    o_proj.weight: {{tp: shard(1)}}
  in_src:
    hidden_states: {{tp: shard(1), cp: shard(1)}}
  in_dst:
    hidden_states: {{tp: replicate, cp: shard(1)}}
  out_src: {{tp: partial, cp: shard(1)}}
  out_dst: {{tp: shard(1), cp: shard(1)}}
  when: cp
  region_dispatch: false
  inner_target: self
  inner_wrapper: sdpa_hf
"""
ROUNDS = 15


def best(function: Callable[[], object]) -> float:
    """Milliseconds of the fastest round."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> None:
    tree = ROOT / "fixtures" / "trees" / "llama3_405b.json"
    head = f"# hplint: model=tree:{tree} mesh=dp=4,cp=2,tp=8 sequence_parallel=true\nplan_overrides:\n"
    text = head + "".join(ENTRY.format(layer=n) for n in range(125))
    data = text.encode()
    session = Session(Request(paths=()))
    document = read_document("plan.yaml", data)
    found = session.examine(document).diagnostics

    def parse() -> None:
        parser = yaml.CSafeLoader(text)
        while parser.get_event() is not None:
            pass

    events = best(parse)
    reading = best(lambda: read_document("plan.yaml", data))
    checking = best(lambda: session.examine(document))
    reader, versions = Rereader(), cycle((text, text.replace("shard(1)}}\n  when", "shard(2)}}\n  when", 1)))
    reader.read("plan.yaml", text)

    def edit() -> None:
        session.examine(reader.read("plan.yaml", next(versions)))

    edited = best(edit)
    print(f"{text.count(chr(10)):,} lines, 125 entries, {len(found)} findings")
    print(f"libyaml alone {events:.0f} ms, reading {reading:.0f} ms, checking {checking:.0f} ms")
    print(f"together {reading + checking:.0f} ms, {(reading + checking) / events:.1f} x libyaml alone")
    print(f"after an edit of one entry, as the language server does it: {edited:.0f} ms")


if __name__ == "__main__":
    main()
