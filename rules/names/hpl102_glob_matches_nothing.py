"""HPL102 glob-matches-nothing: a glob that hits no boundary and no module (R121)."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from hplint.rule import Case, Finding, listing, near, on_fault, quote, remove_entry, rename

RULE = on_fault("HPL102", "glob-matches-nothing", "warning")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        entry = case.entry(fault)
        glob = next((m.value for m in entry.matches if m.span == fault.span), "") if entry else ""
        message = f"{quote(glob)} matches no module, so the entry does nothing"
        meant, advice = _meant(case, glob)
        fixes = [rename(fault.span, glob, name) for name in meant]
        if entry and len(entry.matches) == 1 and not fixes:
            fixes.append(remove_entry(entry))
        yield Finding(fault.span, message, advice, entry, fixes=tuple(fixes))


def _meant(case: Case, glob: str) -> tuple[list[str], str]:
    """The globs that may have been meant, nearest first, and what to do."""
    if case.tree is None:
        return [], ""
    names = case.tree.modules
    if glob.startswith("*.") and _hits(names, glob[2:]):
        return [glob[2:]], f"did you mean {quote(glob[2:])}? `*.` asks for something in front of the dot"
    known = {name for node in case.tree.nodes for name, _ in node.children}
    segments = glob.split(".")
    strange = [i for i, s in enumerate(segments) if s not in known and not set(s) & set("*?[")]
    guesses = [glob]
    for i in strange:
        guesses = [
            ".".join([*parts[:i], close, *parts[i + 1 :]])
            for parts in (g.split(".") for g in guesses)
            for close in near(segments[i], known)
        ]
    found = [g for g in guesses[:9] if g != glob and _hits(names, g)]
    if found:
        return found[:3], f"did you mean {listing(found[:3], 'or')}?"
    if strange:
        return [], f"no module name has the part {listing((segments[i] for i in strange), 'or')}"
    return [], "`*` crosses dots, and the whole name must match; `hplint model show` lists the names"


def _hits(names: object, glob: str) -> bool:
    return any(fnmatchcase(name, glob) for name in names)  # type: ignore[attr-defined]
