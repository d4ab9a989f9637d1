"""HPL412 wrapper-signature: a shipped wrapper whose needed inputs the target's forward lacks (R92, R205)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Module, injections, listing, on_injection, quote, wrapper_names

RULE = on_injection("HPL412", "wrapper-signature")

QKV = ("q", "k", "v")


def check(case: Case) -> Iterator[Finding]:
    tree = case.tree
    if tree is None:
        return
    for injection in injections(case, "inner_wrapper"):
        shipped = injection.shipped
        if shipped is None:
            continue
        for boundary in injection.boundaries:
            target = boundary.inner_target.value if boundary.inner_target else ""
            fqn = boundary.fqn if target == "self" else f"{boundary.fqn}.{target}".lstrip(".")
            module = tree.modules.get(tree.aliases.get(fqn, fqn)) if target else None
            if module is None or not case.is_settled(boundary, "inner_target", "inner_wrapper"):
                continue
            if lacks := _lacks(module, shipped.needs_inputs, shipped.first_three):
                yield Finding(
                    injection.path.span,
                    f"{quote(injection.path.value.rpartition('.')[2])} {lacks}: the runtime cannot wrap it",
                    _advice(module, wrapper_names(case)),
                    injection.entry,
                    boundary.fqn,
                    "inner_wrapper",
                )


def _lacks(module: Module, needs: tuple[str, ...], first_three: bool) -> str:
    forward = module.forward
    # *args may stand for any input, and a forward without a single name says nothing.
    if not forward or any(p.kind == "var_positional" for p in forward):
        return ""
    names = [p.name for p in forward if p.kind != "var_keyword"]
    written = f"but `{module.cls.short if module.cls else 'the module'}.forward` has {listing(names)}"
    if names and (missing := [n for n in needs if n not in names]):
        return f"needs {'an input' if len(missing) == 1 else 'inputs'} named {listing(missing)}, {written}"
    if names and first_three and len([p for p in forward if p.kind.startswith("positional")]) < len(QKV):
        return f"takes the first three inputs as q, k and v, {written}"
    return ""


def _advice(module: Module, known: tuple[str, ...]) -> str:
    names = {p.name for p in module.forward or ()}
    if "hidden_states" in names:
        return "`sdpa_hf` and `flex_hf` wrap a forward that takes `hidden_states`"
    if names.issuperset(QKV):
        return "`sdpa_qkv` and `flex_qkv` wrap a forward that takes `q`, `k` and `v`"
    return f"wrap a module that has these inputs, or write a wrapper of your own; shipped are {listing(known, most=12)}"
