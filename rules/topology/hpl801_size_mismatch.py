"""HPL801 size-mismatch: the file's tp / cp / ep / pp size against the mesh (R98-R100)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_fault

RULE = on_fault("HPL801", "size-mismatch")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        axis, declared, mesh = (fault.data[k] for k in ("axis", "declared", "mesh"))
        by_default = fault.data.get("by_default", False)
        said = f"{axis}_size is not written, which means 1" if by_default else f"{axis}_size is {declared}"
        name = f"{axis}_size"
        if fault.data.get("given"):
            said, name = f"the {axis} size is given as {declared}", axis
        has = f"has {axis} = {mesh}" if mesh != 1 else f"has no {axis} axis above 1"
        yield Finding(
            fault.span,
            f"{said}, but the mesh {has}: the runtime refuses to plan on it",
            help=f"set {name} to {mesh}, or give the mesh {axis} = {declared}",
            field=fault.field,
        )
