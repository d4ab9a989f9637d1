"""Why there is no model tree: one line of cause and one of remedy each."""

from hplint.errors import RequestError


class SpecError(RequestError):
    """A spec that names nothing or cannot be read: a wrong request (exit 2 on the command line)."""

    @property
    def reason(self) -> str:
        return self.message


class ModelError(Exception):
    """A model that a well-formed spec names but that cannot be had here (HPL009)."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
