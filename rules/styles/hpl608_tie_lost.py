"""HPL608 tie-lost: a plan that parts weights which are one tensor (T1)."""

from collections.abc import Iterator

from hplint.rule import Case, Finding, Related, quote
from hplint.style_rule import StyleEntry, cut_dims, on_styles, ties_again

RULE = on_styles("HPL608", "tie-lost", "warning", "torch")


def check(case: Case) -> Iterator[Finding]:
    if case.styles is None or case.tree is None:
        return
    for group in case.tree.ties:
        cut = [(name, entry, dim) for name in group for entry, dim in _cuts(case, name)]
        if not cut:
            continue
        dims = {dim for _, _, dim in cut}
        whole = len({name for name, _, _ in cut}) == len(group)
        if whole and len(dims) == 1 and ties_again(case.plan.source.text):
            continue  # Both sides agree and the file ties them again.
        name, entry, _ = cut[-1]
        others = [n for n in group if n != name]
        where = "both are cut, each by itself" if whole else f"{quote(others[0])} stays whole"
        yield Finding(
            entry.key.span if entry.key else entry.span,
            f"{quote(name)} and {quote(others[0])} are one tensor, and {where}: the plan makes two of them, which "
            "drift apart from the first optimizer step",
            "cut both along the same dim and tie them again after `parallelize_module`, or leave both whole",
            entry,
            related=tuple(Related("and cut here", e.key.span) for _, e, _ in cut[:-1] if e.key),
        )


def _cuts(case: Case, parameter: str) -> Iterator[tuple[StyleEntry, int]]:
    """The entry that cuts a parameter, and the dim."""
    assert case.styles is not None and case.tree is not None
    owner, _, name = parameter.rpartition(".")
    entry = case.styles.winners.get(owner)
    if entry and entry.style and owner in case.tree.modules:
        dim = cut_dims(entry.style, case.tree.modules[owner]).get(name)
        if dim is not None:
            yield entry, dim
