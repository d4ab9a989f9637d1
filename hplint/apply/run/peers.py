"""Telling the rank at fault from those that only lost it."""

_WORDS = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "timed out waiting",
    "timed out after",
    "wait timeout",
    "connection refused",
    "socket timeout",
    "no error returned by peer",
    "application timeout caused pair closure",
    "remote process exited or there was a network error",
    "nccl communicator was aborted",
    "watchdog caught collective operation timeout",
)


def is_lost_peer(error: BaseException) -> bool:
    """Whether an error means that another rank ended or does not answer, in a collective of gloo or nccl."""
    if type(error).__name__ in ("DistNetworkError", "DistBackendError", "DistStoreError"):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError | OSError) and any(word in text for word in _WORDS)
