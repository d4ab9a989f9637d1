"""HPL513 replacement-condition: replace_module with a parallel `when` (R51)."""

from collections.abc import Iterator

from hplint.rule import SHARDING_FIELDS, Case, Finding, on_injection, remove_fields

RULE = on_injection("HPL513", "replacement-condition")


def check(case: Case) -> Iterator[Finding]:
    for entry in case.plan.entries:
        if entry.replace_module and entry.when and entry.when.value in ("cp", "ep"):
            # Fields that shard would count on every run as well.
            alone = entry.keys.keys().isdisjoint(SHARDING_FIELDS)
            yield Finding(
                entry.when.span,
                f"`when: {entry.when.value}` beside `replace_module`: modules are replaced before any axis "
                "counts, and the runtime refuses the condition",
                "remove `when`, or move the sharding fields of the entry to one of their own",
                entry,
                None,
                "when",
                fixes=(remove_fields(entry, "when", safe=alone),),
            )
