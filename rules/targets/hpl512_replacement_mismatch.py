"""HPL512 replacement-mismatch: a replacement that matches nothing, another class, a nested or doubly matched module
(R65-R68)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, Module, ModuleTree, Text, listing, near, on_injection, quote, replacements

RULE = on_injection("HPL512", "replacement-mismatch")


def check(case: Case) -> Iterator[Finding]:
    tree = case.tree
    if tree is None:
        return
    selected: dict[str, Entry] = {}
    for entry, match, names in replacements(case):
        if not names:
            yield _nothing(tree, entry, match)
        others = [n for n in names if _is_other_class(case, entry, tree.modules[n])]
        yield from _other_classes(entry, [tree.modules[n] for n in others])
        for name in names if len(others) < len(names) else ():
            if name in others:
                continue
            if (other := selected.setdefault(name, entry)) is not entry:
                yield _twice(entry, match, name, other)
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


def _is_other_class(case: Case, entry: Entry, module: Module) -> bool:
    kind, cls = entry.module_type, module.cls
    if kind is None or cls is None or case.targets is None:
        return False
    known = case.targets.read(kind.value).classes
    there = {cls.name} if entry.exact_type and entry.exact_type.value else {cls.name, *cls.bases}
    # A class under the same name in another file may be the same one, found through another path.
    names = {m.rpartition(".")[2] for m in (*known, kind.value)}
    return bool(known) and names.isdisjoint(c.rpartition(".")[2] for c in there)


def _other_classes(entry: Entry, modules: list[Module]) -> Iterator[Finding]:
    kind = entry.module_type
    if kind is None or not modules:
        return
    classes = dict.fromkeys(m.cls.short for m in modules if m.cls)
    exactly = "exactly " if entry.exact_type and entry.exact_type.value else ""
    message = (
        f"modules of class {listing(classes)} are matched, but only those of class {exactly}"
        f"{quote(kind.value.rpartition('.')[2])} may be replaced: the runtime refuses the others"
    )
    for module in modules:
        yield Finding(kind.span, message, "narrow the match, or name their class", entry, module.fqn, "module_type")


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
