"""HPL802 expert-region: an expert-parallel size that does not fit the mesh or the model (R105-R107)."""

from collections.abc import Iterator

from hplint.rule import Case, Fault, Finding, on_fault

RULE = on_fault("HPL802", "expert-region")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        message, advice = _WORDED[fault.data["problem"]](fault)
        yield Finding(fault.span, f"{message}, so the runtime refuses the plan", help=advice)


def _pipeline(fault: Fault) -> tuple[str, str]:
    ep, pp = fault.data["ep"], fault.data["pp"]
    message = f"ep = {ep} re-cuts the whole mesh for the experts, which the runtime does not do with pp = {pp}"
    return message, "set pp to 1, or give the mesh an ep axis"


def _region(fault: Fault) -> tuple[str, str]:
    ep, region, axes = (fault.data[k] for k in ("ep", "region", "axes"))
    shown = " x ".join(f"{axis} {size}" for axis, size in axes.items())
    verb = "exceeds" if ep > region else "does not divide"
    message = f"ep = {ep} {verb} the {region} ranks of the mesh ({shown})"
    return message, f"ep may be {_or(_divisors(region))}"


def _experts(fault: Fault) -> tuple[str, str]:
    ep, experts, key = (fault.data[k] for k in ("ep", "experts", "key"))
    # Configurations that call the number by its other name are written out with this one all the same.
    named = f"`{key}`" if key != "num_local_experts" else "`num_local_experts`, or `num_experts` as some spell it"
    message = f"ep = {ep} does not divide the model's {experts} experts ({named})"
    return message, f"ep may be {_or(_divisors(experts))}"


def _divisors(number: int) -> list[int]:
    small = [n for n in range(1, min(number, 4096) + 1) if number % n == 0]
    return small[:12]


def _or(numbers: list[int]) -> str:
    words = [str(n) for n in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_WORDED = {"pipeline": _pipeline, "region": _region, "experts": _experts}
