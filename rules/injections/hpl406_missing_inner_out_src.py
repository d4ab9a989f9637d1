"""HPL406 missing-inner-out-src: a wrapper on a child module without inner_out_src (R148)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, on_injection, quote, set_field

RULE = on_injection("HPL406", "missing-inner-out-src")


def check(case: Case) -> Iterator[Finding]:
    if not case.resolved:
        if not any("inner_out_src" in e.keys for e in case.plan.entries):
            yield from (_finding(e, None) for e in case.plan.entries if _wraps_child(e))
        return
    for boundary in case.boundaries():
        target, entry = boundary.inner_target, boundary.origin.get("inner_target")
        if target is None or entry is None or target.value == "self" or boundary.inner_wrapper is None:
            continue
        if boundary.inner_out_src is not None or not case.is_settled(boundary, "inner_out_src", "inner_target"):
            continue
        if case.tree and case.tree.has_classes and target.value not in case.tree.children(boundary.fqn):
            continue  # HPL404: perhaps the module itself is meant, which needs no inner_out_src.
        yield _finding(entry, boundary.fqn)


def _wraps_child(entry: Entry) -> bool:
    return bool(entry.inner_target and entry.inner_target.value != "self" and entry.inner_wrapper)


def _finding(entry: Entry, module: str | None) -> Finding:
    child = entry.inner_target.value if entry.inner_target else ""
    return Finding(
        entry.values["inner_target"],
        f"the wrapper on the child {quote(child)} has no `inner_out_src`: nothing says how its output is laid out, and "
        "the runtime refuses the boundary",
        "add `inner_out_src: first_input` if the output is laid out like the first input, else the placement itself",
        entry,
        module,
        "inner_target",
        fixes=(set_field(entry, "inner_out_src", "first_input"),),
    )
