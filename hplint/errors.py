"""What goes wrong before or beside the plans: few errors, each with an exit code, told in one place (cli/main.py)."""


class HplintError(Exception):
    """An error that is told in one line, without a traceback. ``hint`` says what to do, in a second line."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class RequestError(HplintError):
    """A request that cannot be met: an unknown rule, a missing path, an option that makes no sense."""

    exit_code = 2


class ConfigError(RequestError):
    """A configuration file that cannot be read or says something that hplint does not know.

    ``path`` is the file; ``line`` is 1-based, None where no line is to blame.
    """

    def __init__(self, message: str, path: str, line: int | None = None, hint: str = "") -> None:
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {message}", hint)
        self.path = path
        self.line = line
