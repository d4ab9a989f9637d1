"""What can go wrong when a plan is applied or an applied model runs."""

from typing import TYPE_CHECKING

from hplint.errors import HplintError, RequestError

if TYPE_CHECKING:
    from hplint.lint.diagnostic import Diagnostic


class PlanRefused(RequestError):
    """The checks found errors, so that nothing was applied. ``diagnostics`` are all findings, warnings included."""

    exit_code = 1

    def __init__(self, message: str, diagnostics: "tuple[Diagnostic, ...]" = (), hint: str = "") -> None:
        super().__init__(message, hint)
        self.diagnostics = diagnostics


class CannotApply(RequestError):
    """A plan that does not fit the live model or the mesh. Raised before anything was changed."""


class ApplyFailed(HplintError):
    """Applying stopped half-way: the model is changed in part and of no use. ``boundary`` is the FQN at fault."""

    exit_code = 2

    def __init__(self, message: str, boundary: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.boundary = boundary


class BoundaryError(HplintError):
    """A forward through a boundary that its contract does not allow: a sequence that does not divide, an output that
    the forward did not return. ``boundary`` is the FQN."""

    exit_code = 1

    def __init__(self, message: str, boundary: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.boundary = boundary


class LayoutMismatch(BoundaryError):
    """An output that is not laid out as the contract declares (validate mode, R191). ``declared`` and ``actual`` are
    axis -> placement, spelled as in plans."""

    def __init__(
        self, boundary: str, output: str, declared: dict[str, str], actual: dict[str, str], hint: str = ""
    ) -> None:
        self.output, self.declared, self.actual = output, declared, actual
        told = [f"{a} `{actual[a]}`, declared `{p}`" for a, p in declared.items() if actual.get(a) != p]
        message = f"output `{output}` of `{boundary or 'the root module'}` is laid out {', '.join(told)}"
        super().__init__(message, boundary, hint or "correct out_src, or the layouts of the parameters that lead to it")


def hint_on(error: BaseException) -> str:
    """What to do about something that torch raised where its words do not say; "" where nothing is known."""
    if isinstance(error, NotImplementedError) and "sharding strategy" in str(error):
        return (
            "DTensors cannot go through that operator here: hand plain tensors to it (`use_local_output=True`), or run "
            "on devices for which torch has another one"
        )
    return ""
