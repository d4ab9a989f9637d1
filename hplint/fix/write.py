"""Fixed files go to the disk whole or not at all."""

import os
from pathlib import Path


class NotWritten(Exception):
    """A file that was left as it is; ``reason`` says why. ``changed``: somebody else wrote it meanwhile."""

    def __init__(self, reason: str, changed: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.changed = changed


def write_fixed(path: str, before: bytes, after: bytes) -> None:
    """Replace the contents of a file that still holds ``before``: a temporary file beside it is written and renamed.

    Mode and (where allowed) owner are kept; a symbolic link stays one, its target is written. Raises NotWritten.
    """
    try:
        target = Path(path).resolve(strict=True)
        state = target.stat()
        if not os.access(target, os.W_OK):
            raise NotWritten("it is write-protected")
        _replace(target, state, before, after)
    except OSError as error:
        raise NotWritten(error.strerror or type(error).__name__) from None


def _replace(target: Path, state: os.stat_result, before: bytes, after: bytes) -> None:
    scratch = target.with_name(f".{target.name[:200]}.{os.getpid()}.hplint")
    try:
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
            if (state.st_uid, state.st_gid) != (os.getuid(), os.getgid()):
                _keep_owner(stream.fileno(), state)
            os.fchmod(stream.fileno(), state.st_mode & 0o7777)
        if target.read_bytes() != before:
            raise NotWritten("it changed while it was being fixed", changed=True)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def _keep_owner(handle: int, state: os.stat_result) -> None:
    try:
        os.fchown(handle, state.st_uid, state.st_gid)
    except OSError:
        # Only the superuser may give files away: the file then belongs to whoever fixed it.
        return
