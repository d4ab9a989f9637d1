"""HPL511 replacement-without-type: replace_module without module_type (R53), or the reverse (S35)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, on_injection

RULE = on_injection("HPL511", "replacement-without-type")


def check(case: Case) -> Iterator[Finding]:
    for entry in case.plan.entries:
        if entry.replace_module and entry.module_type is None and "module_type" not in entry.broken:
            yield Finding(
                entry.keys["replace_module"],
                "`replace_module` without `module_type`: nothing says which class it replaces, and it is refused",
                "add `module_type` with the dotted path of the class that is to be replaced",
                entry,
                None,
                "replace_module",
            )
        if entry.module_type and entry.replace_module is None and "replace_module" not in entry.broken:
            yield Finding(
                entry.keys["module_type"],
                "`module_type` without `replace_module`: nothing is replaced, and the runtime ignores it",
                "add a `replace_module`, or remove `module_type`",
                entry,
                None,
                "module_type",
                severity="warning",
            )
