"""HPL009 model-unavailable: the model that was named cannot be had here."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_fault, quote

RULE = on_fault("HPL009", "model-unavailable")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        data = fault.data
        spec, reason = quote(data["spec"]), data["reason"]
        message = f"the model {spec} is not available: {reason}; names and shapes are not checked"
        # The model section of a trainer file may well name a folder of the machine that will run it.
        if data.get("implied"):
            yield Finding(fault.span, message, help=_named(data["hint"]), severity="warning")
        else:
            yield Finding(fault.span, message, help=data["hint"])


def _named(hint: str) -> str:
    own = "name a model that is here: --model SPEC, or a comment `# hplint: model=SPEC`"
    return f"{hint}; or {own}" if hint else own
