"""HPL305 dropped-parameters: params that replace derived ones and leave some out (R122)."""

from collections.abc import Iterator, Mapping

from hplint.rule import (
    Case,
    Coverage,
    Fault,
    Finding,
    Layout,
    Proposal,
    add_params,
    listing,
    on_fault,
    remove_fields,
)

RULE = on_fault("HPL305", "dropped-parameters", "warning")

_Drops = dict[tuple[int | None, tuple[str, ...]], list[str]]
"""(entry, dropped paths) -> the modules where that happens."""


def check(case: Case) -> Iterator[Finding]:
    if not (coverage := case.coverage):
        return
    found: list[tuple[Fault, tuple[str, ...]]] = []
    modules: _Drops = {}
    misspelt = _misspelt(coverage)
    for fault in case.faults(RULE.name):
        fqn = fault.module or ""
        dropped = tuple(path for path in fault.data["dropped"] if path not in misspelt.get(fqn, ()))
        if dropped and not coverage.is_replaced(fqn):
            found.append((fault, dropped))
            modules.setdefault((fault.entry, dropped), []).append(fqn)
    proposals: dict[tuple[int | None, tuple[str, ...]], tuple[Proposal, ...]] = {}
    for fault, dropped in found:
        key = (fault.entry, dropped)
        if key not in proposals:
            proposals[key] = _fixes(case, fault, dropped, modules[key])
        message = (
            f"`params` replaces the boundary's parameters as a whole and drops {listing(dropped)}: "
            f"{'it loses its layout' if len(dropped) == 1 else 'they lose their layouts'}"
        )
        advice = "write the dropped ones too, or leave `params` out to keep what was derived"
        yield Finding(
            fault.span, message, advice, case.entry(fault), fault.module, fault.field, fixes=proposals[key]
        )  # fmt: skip


def _misspelt(coverage: Coverage) -> dict[str, set[str]]:
    """Module -> the parameters that unknown keys probably mean: HPL104 tells of these."""
    found: dict[str, set[str]] = {}
    for parameter in coverage.unknown:
        found.setdefault(parameter.boundary.fqn, set()).update(coverage.meant(parameter))
    return found


def _fixes(case: Case, fault: Fault, dropped: tuple[str, ...], modules: list[str]) -> tuple[Proposal, ...]:
    entry = case.entry(fault)
    if entry is None:
        return ()
    layouts: Mapping[str, Layout] = fault.data["layouts"]
    changes = add_params(case, modules, {path: layouts[path] for path in dropped}, entry)
    added = Proposal(f"add {listing(dropped)} as derived", changes)
    return (*((added,) if changes else ()), remove_fields(entry, "params"))
