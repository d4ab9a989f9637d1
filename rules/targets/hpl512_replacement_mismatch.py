"""HPL512 replacement-mismatch: a replacement that matches nothing, another class, a nested or doubly matched module
(R65-R68)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, Module, ModuleTree, Text, near, on_injection, quote, replacements

RULE = on_injection("HPL512", "replacement-mismatch")


def check(case: Case) -> Iterator[Finding]:
    tree = case.tree
    if tree is None:
        return
    selected: dict[str, Entry] = {}
    for entry, match, names in replacements(case):
        if not names:
            yield _nothing(tree, entry, match)
        for name in names:
            if (other := selected.setdefault(name, entry)) is not entry:
                yield _twice(entry, match, name, other)
            yield from _other_class(case, entry, tree.modules[name])
    yield from _nested(selected)


def _nothing(tree: ModuleTree, entry: Entry, match: Text) -> Finding:
    meant = near(match.value, tree.modules) if not set("*?[").intersection(match.value) else []
    advice = f"did you mean {quote(meant[0])}?" if meant else "change it until it names the modules that are meant"
    message = f"{quote(match.value)} matches no module: the runtime refuses a replacement that replaces nothing"
    return Finding(match.span, message, advice, entry, None, "match")


def _twice(entry: Entry, match: Text, name: str, other: Entry) -> Finding:
    related = ((f"{quote(other.match.value)} replaces it already", other.match.span),) if other.match else ()
    message = f"{quote(match.value)} matches a module that another entry replaces: the runtime refuses both"
    return Finding(match.span, message, "let one entry alone match each module", entry, name, "match", related)


def _other_class(case: Case, entry: Entry, module: Module) -> Iterator[Finding]:
    kind, cls = entry.module_type, module.cls
    if kind is None or cls is None or case.targets is None:
        return
    known = case.targets.read(kind.value).classes
    meant = {*known, kind.value}
    exact = bool(entry.exact_type and entry.exact_type.value)
    there = {cls.name} if exact else {cls.name, *cls.bases}
    # A class under the same name in another file may be the same one, found through another path.
    last = {m.rpartition(".")[2] for m in meant}
    if last & {c.rpartition(".")[2] for c in there} or not known:
        return
    named = f"{'exactly ' if exact else ''}a {quote(kind.value.rpartition('.')[2])}"
    message = f"the module is a {quote(cls.short)}, not {named}: the runtime refuses to replace it"
    advice = f"narrow the match, or write `module_type: {cls.name}`"
    yield Finding(kind.span, message, advice, entry, module.fqn, "module_type")


def _nested(selected: dict[str, Entry]) -> Iterator[Finding]:
    for name, entry in selected.items():
        above = name
        while above:
            above = above.rpartition(".")[0]
            if above in selected and entry.match:
                text = quote(entry.match.value)
                message = f"{text} matches a module inside another one that is replaced: the runtime refuses it"
                yield Finding(entry.match.span, message, "replace the outer or the inner module", entry, name, "match")
                break
