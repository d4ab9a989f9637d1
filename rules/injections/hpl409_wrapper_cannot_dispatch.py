"""HPL409 wrapper-cannot-dispatch: a shipped CP wrapper, by name or by target, with region_dispatch true (R146, S23)."""

from collections.abc import Iterator

from hplint.rule import Case, Entry, Finding, injections, on_injection, quote, rewrite

RULE = on_injection("HPL409", "wrapper-cannot-dispatch")


def check(case: Case) -> Iterator[Finding]:
    for injection in injections(case, "inner_wrapper"):
        shipped = injection.shipped
        if shipped is None or not shipped.context:
            continue
        name = injection.path.value.rpartition(".")[2]
        if not case.resolved and (flag := injection.entry.region_dispatch) and flag.value:
            yield _finding(injection.entry, name, None)
        for boundary in injection.boundaries:
            entry = boundary.origin.get("region_dispatch")
            if boundary.region_dispatch is True and entry and case.is_settled(boundary, "region_dispatch"):
                yield _finding(entry, name, boundary.fqn)


def _finding(entry: Entry, name: str, module: str | None) -> Finding:
    return Finding(
        entry.values["region_dispatch"],
        f"`region_dispatch: true` with {quote(name)}: the wrapper communicates by itself, which DTensors cannot follow",
        "write `region_dispatch: false`",
        entry,
        module,
        "region_dispatch",
        fixes=(rewrite(entry.values["region_dispatch"], "true", False, safe=True),),
    )
