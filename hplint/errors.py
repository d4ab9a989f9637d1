"""Errors that end a run, each with its exit code. They are printed in one place, ``hplint/__main__.py``."""


class HplintError(Exception):
    """``message`` is one line for people; ``hint`` says what to do instead ("" when there is nothing to say)."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class RequestError(HplintError):
    """The request itself is wrong: an unknown rule, a missing path, a bad option."""

    exit_code = 2
