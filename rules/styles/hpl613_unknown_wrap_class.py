"""HPL613 unknown-wrap-class: a wrap policy of FSDP that names module classes which the model does not have (O2)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, ModuleTree, Text, listing, near, quote, rename_to_near
from hplint.style_rule import WrapPolicy, on_styles

RULE = on_styles("HPL613", "unknown-wrap-class", "error", "torch")


def check(case: Case) -> Iterator[Finding]:
    if case.tree is None or not case.tree.has_classes or not case.plan.wraps:
        return
    here = {c.short for c in case.tree.classes}
    bases = {base.rpartition(".")[2] for c in case.tree.classes for base in c.bases}
    for policy in case.plan.wraps:
        if policy.owner is not None and policy.owner not in here:
            continue  # Another model's.
        unknown = [c for c in policy.classes if c.value not in here and c.value not in bases]
        alone = len(unknown) == len(policy.classes) and policy.whole
        for name in unknown:
            if alone or policy.by_name or near(name.value, here):
                yield _finding(case.tree, policy, name, here, alone)


def _finding(tree: ModuleTree, policy: WrapPolicy, name: Text, here: set[str], alone: bool) -> Finding:
    names = near(name.value, sorted(here))
    if names:
        advice = f"did you mean {listing(names, 'or')}?"
    else:
        repeated = _repeated(tree)
        advice = (
            f"its repeated blocks are {listing(repeated)}" if repeated else f"its classes are {listing(sorted(here))}"
        )
    if policy.by_name and policy.owner is None:
        what = "looking the class up fails"
    elif alone:
        what = "nothing is wrapped by itself, and each rank gathers the whole model at once"
    else:
        what = "it wraps nothing"
    # A list of classes may serve several models; a text in it is looked up all the same.
    sure = alone or (policy.by_name and policy.owner is None)
    return Finding(
        name.span,
        f"{quote(policy.name)} names {quote(name.value)}, and no module of the model is of that class: {what}",
        advice,
        fixes=rename_to_near(name.span, name.value, here) if policy.by_name else (),
        severity=None if sure else "warning",
    )


def _repeated(tree: ModuleTree) -> list[str]:
    """Classes of modules that stand side by side under numbers: most likely the blocks."""
    found: dict[str, None] = {}
    for fqn, module in tree.modules.items():
        if fqn.rpartition(".")[2].isdecimal() and module.cls and module.node.children:
            found[module.cls.short] = None
    return list(found)
