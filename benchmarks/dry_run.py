"""How long a dry run of 405 billion parameters takes, and how much memory: ``python benchmarks/dry_run.py [AXES…]``.

Each mesh runs twice in processes of its own: cold, with an empty cache of module trees, and warm. Peak memory is that
of the largest process. The goal is 30 seconds and 4 GB on two cores.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAN = "fixtures/plans/ok/llama3_405b.yaml"
MESHES = ("dp=256,cp=2,tp=8", "dp=512,cp=2,tp=8")


def measure(mesh: str, cache: str) -> tuple[float, float]:
    """Seconds and GB of one dry run."""
    command = [sys.executable, "-m", "hplint", PLAN, "--mesh", mesh, "--apply", "--dry-run", "--output-format", "json"]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "HPLINT_CACHE_DIR": cache}, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"the dry run on {mesh} ended with {os.waitstatus_to_exitcode(status)}")
    # What the process waited for counts with it: ru_maxrss is the largest of them all.
    return seconds, usage.ru_maxrss * 1024 / 1e9


def main() -> None:
    """Print one line a run."""
    for mesh in sys.argv[1:] or MESHES:
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                seconds, size = measure(mesh, cache)
                print(f"{mesh:24} {state}  {seconds:6.1f} s  {size:5.2f} GB", flush=True)


if __name__ == "__main__":
    main()
