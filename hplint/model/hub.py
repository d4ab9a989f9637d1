"""The local Hugging Face hub cache, read where it lies. Nothing here goes to the network."""

import os
import re
from collections.abc import Iterator

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?(?:@[\w.-]+)?")


def snapshot(hub_id: str) -> str | None:
    """The folder of the snapshot of ``org/name`` (or ``org/name@revision``) in the local hub cache, None without one.

    Without a revision: the one that ``refs/main`` names, else the newest snapshot.
    """
    name, _, revision = hub_id.partition("@")
    for root in _roots():
        folder = os.path.join(root, "models--" + name.replace("/", "--"))
        for commit in _commits(folder, revision):
            found = os.path.join(folder, "snapshots", commit)
            if os.path.isdir(found):
                return found
    return None


def _roots() -> Iterator[str]:
    env = os.environ
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            yield os.path.expanduser(env[name])
            return
    if env.get("HF_HOME"):
        yield os.path.join(os.path.expanduser(env["HF_HOME"]), "hub")
        return
    cache = env.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield os.path.join(cache, "huggingface", "hub")


def _commits(folder: str, revision: str) -> Iterator[str]:
    try:
        with open(os.path.join(folder, "refs", revision or "main"), encoding="utf-8") as file:
            yield file.read(200).strip()
    except (OSError, ValueError):
        pass
    if revision:
        yield revision
        return
    try:
        with os.scandir(os.path.join(folder, "snapshots")) as entries:
            newest = sorted(entries, key=lambda e: e.stat().st_mtime_ns, reverse=True)
    except OSError:
        return
    yield from (e.name for e in newest)
