"""Which files a build read, and no network. Runs in the child process alone."""

import os
import site
import sys
import sysconfig
from typing import Any

MOST_FILES = 5000


class NetworkBlocked(OSError):
    """A factory tried to reach another machine."""


def no_network() -> None:
    """Refuse connections and name look-ups that leave this machine: a build gives one tree everywhere, or says so."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo":
            host = args[0]
        elif event == "socket.connect" and isinstance(args[1], tuple):
            host = args[1][0]
        else:
            return
        host = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if host and host not in ("localhost", "::1", "0.0.0.0", "::") and not host.startswith("127."):
            raise NetworkBlocked(f"connection to {host}")

    sys.addaudithook(hook)


class FilesRead:
    """Records the files that are opened for reading from its creation on, with size and mtime as they were then."""

    def __init__(self) -> None:
        self.read: dict[str, tuple[int, int] | None] = {}
        self.written: set[str] = set()
        self.active = True
        self.before = set(sys.modules)
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or not self.active or len(self.read) > MOST_FILES:
            return
        path, mode, flags = args
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str):
            return
        path = os.path.abspath(path)
        writes = any(c in mode for c in "wax+") if mode else bool((flags or 0) & (os.O_WRONLY | os.O_RDWR))
        if writes:
            self.written.add(path)
        elif path not in self.read:
            self.read[path] = _state(path)

    def stop(self) -> dict[str, tuple[int, int] | None]:
        """Path -> (size in bytes, mtime in ns), None for a file that was looked for in vain. Installed packages and the
        standard library are left out: their versions stand for them."""
        self.active = False
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and getattr(module, "__name__", "") not in self.before:
                self.read.setdefault(os.path.abspath(path), _state(path))
        skip = _installed()
        kept = {
            path: state
            for path, state in self.read.items()
            if not path.startswith(skip) and path not in self.written and not path.endswith((".pyc", ".so"))
        }
        return {p: s for p, s in kept.items() if not os.path.isdir(p)}


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns


def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = {paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib")} | {own, *site.getsitepackages()}
    if site.ENABLE_USER_SITE:
        folders.add(site.getusersitepackages())
    return (*(os.path.join(f, "") for f in folders), "/proc/", "/sys/", "/dev/", "/etc/")
