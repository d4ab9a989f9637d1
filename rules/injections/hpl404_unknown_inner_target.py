"""HPL404 unknown-inner-target: inner_target is neither self nor a direct child of the module (R97)."""

from collections.abc import Iterator

from hplint.rule import (
    Boundary,
    Case,
    Entry,
    Finding,
    ModuleTree,
    Proposal,
    Text,
    listing,
    near,
    on_injection,
    quote,
    remove_injection,
    rename,
    rename_to_near,
)

RULE = on_injection("HPL404", "unknown-inner-target")


def check(case: Case) -> Iterator[Finding]:
    tree = case.tree
    if tree is None or not tree.has_classes:
        return
    for boundary in case.boundaries():
        target, entry = boundary.inner_target, boundary.origin.get("inner_target")
        if target is None or entry is None or boundary.fqn not in tree.modules:
            continue
        children = tree.children(boundary.fqn)
        if target.value == "self" or target.value in children or not case.is_settled(boundary, "inner_target"):
            continue
        yield Finding(
            target.span,
            f"{quote(target.value)} {_what(tree, boundary, target.value)}: the runtime finds no forward to replace",
            _advice(target.value, children),
            entry,
            boundary.fqn,
            "inner_target",
            fixes=_fixes(target, children, entry),
        )


def _what(tree: ModuleTree, boundary: Boundary, name: str) -> str:
    if name in tree.modules[boundary.fqn].ints:
        return "is a number of the module, not a child module"
    if "." in name:
        return "is a dotted path, and only `self` or a direct child can be wrapped"
    return "is not a child of the module"


def _advice(name: str, children: tuple[str, ...]) -> str:
    if found := near(name, ("self", *children)):
        return f"did you mean {listing(found, 'or')}?"
    return f"name the module itself (`self`) or a direct child: {listing(children) or 'it has none'}"


def _fixes(target: Text, children: tuple[str, ...], entry: Entry) -> tuple[Proposal, ...]:
    fixes = rename_to_near(target.span, target.value, ("self", *children))
    itself = rename(target.span, target.value, "self")
    return (*fixes, itself) if fixes else (itself, *remove_injection(entry, "inner_target"))
