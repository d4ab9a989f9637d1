"""HPL501 unresolved-target: a `_target_` that names nothing, or nothing callable (R16-R23, S53)."""

from collections.abc import Iterator
from typing import Any

from hplint.rule import (
    Case,
    Entry,
    Fault,
    Finding,
    Injection,
    Proposal,
    Text,
    injections,
    listing,
    near,
    on_injection,
    quote,
    rename,
    rename_to_one,
)

RULE = on_injection("HPL501", "unresolved-target", "error", "unresolved-target")


def check(case: Case) -> Iterator[Finding]:
    for fault in case.faults(RULE.name):
        yield _unreadable(case, fault)
    for injection in injections(case):
        if injection.reading and (finding := _target(case, injection)):
            yield finding
    if case.targets:
        for entry in case.plan.entries:
            if entry.module_type and (finding := _module_type(case, entry)):
                yield finding


def _module_type(case: Case, entry: Entry) -> Finding | None:
    """``module_type`` names a class by its dotted path too (R56, R57)."""
    kind = entry.module_type
    if kind is None or case.targets is None or _in_model(case, kind.value):
        return None
    reading = case.targets.read(kind.value)
    found = reading.found
    if hasattr(found, "definitions"):
        if found.callable is None or reading.classes:
            return None
        message, advice, severity = f"{quote(kind.value)} is not a class", "name a class of modules", None
    elif reading.is_hyper_parallel and not found.package_found:
        return None
    elif not found.package_found:
        message = f"the package {quote(found.part)} is not found here, so {quote(kind.value)} is not checked"
        advice, severity = _meant(found.near) or "name its folder with --src, or install it beside hplint", "warning"
    else:
        message = f"{quote(found.parent)} has no {quote(found.part)}: {quote(kind.value)} cannot be imported"
        advice, severity = _meant(found.near), None if found.certain else "warning"
    fixes = _corrected(case, kind, found, severity is None)
    return Finding(kind.span, message, advice, entry, None, "module_type", fixes=fixes, severity=severity)


def _in_model(case: Case, dotted: str) -> bool:
    return case.tree is not None and any(c.is_a(dotted) for c in case.tree.classes)


def _unreadable(case: Case, fault: Fault) -> Finding:
    data = fault.data
    fixes: tuple[Proposal, ...] = ()
    if data["problem"] == "missing":
        message = "the target has no `_target_`: nothing names the function to call"
        written = near("_target_", [k for k in data["keys"] if isinstance(k, str)])
        advice = "add `_target_: package.function`"
        if written:
            advice = f"did you mean `_target_` instead of {quote(written[0])}?"
            fixes = tuple(rename(data["keys"][k], k, "_target_", safe=len(written) == 1) for k in written)
    elif data["problem"] == "empty-part":
        message = f"{quote(data['value'])} has an empty part: it is no dotted path to a function"
        advice = "write it as package.module.function"
    else:
        message = f"`_target_` is {quote(data['value'])}, not the dotted path of a function: it is refused"
        advice = "write it as package.module.function"
    return Finding(fault.span, message, advice, case.entry(fault), None, fault.field, fixes=fixes)


def _target(case: Case, injection: Injection) -> Finding | None:
    reading, path = injection.reading, injection.path.value
    assert reading is not None
    found = reading.found
    if hasattr(found, "definitions"):
        if found.callable is False:
            kind = "a module" if found.definitions[0].kind == "module" else "a plain value"
            return _finding(injection, f"{quote(path)} is {kind}, which cannot be called", "name a function", None)
        if "syntax error" in found.unreadable:
            # Another Python version may well read it.
            return _finding(injection, f"{quote(path)} cannot be read: {found.unreadable}", "", "warning")
        return None
    if reading.is_own:
        return None  # A name that some function of the plan's own file binds.
    if reading.is_hyper_parallel and not found.package_found:
        return _not_installed(case, injection)
    if not found.package_found:
        message = f"the package {quote(found.part)} is not found here, so {quote(path)} is not checked"
        advice = _meant(found.near) or "name its folder with --src, or install it beside hplint"
        fixes = _corrected(case, injection.path, found, False)
        return _finding(injection, message, advice, "warning", fixes)
    message = f"{quote(found.parent)} has no {quote(found.part)}: {quote(path)} cannot be imported"
    advice = reading.migration or _meant(found.near)
    fixes = _moved(case, injection) or _corrected(case, injection.path, found, found.certain)
    return _finding(injection, message, advice, None if found.certain else "warning", fixes)


def _not_installed(case: Case, injection: Injection) -> Finding | None:
    reading, path = injection.reading, injection.path.value
    assert reading is not None
    if reading.migration:
        message = f"{quote(path)} is a path that newer versions of HyperParallel lack"
        return _finding(injection, message, reading.migration, "warning", _moved(case, injection))
    if reading.shipped and reading.shipped.dotted == path:
        return None
    if reading.near_shipped and not reading.shipped:
        message = f"{quote(path)} is not among the functions that HyperParallel ships there"
        fixes = _renamed(case, injection.path, list(reading.near_shipped), False)
        return _finding(injection, message, _meant(reading.near_shipped), "warning", fixes)
    message = f"HyperParallel is not installed here, so {quote(path)} is not checked"
    return _finding(injection, message, "install it beside hplint, or name its folder with --src", "info")


def _meant(names: tuple[str, ...]) -> str:
    return f"did you mean {listing(names, 'or')}?" if names else ""


def _moved(case: Case, injection: Injection) -> tuple[Proposal, ...]:
    """The path of newer versions. The table may not fit the version that will run."""
    new = injection.reading.moved if injection.reading else ""
    return _renamed(case, injection.path, [new] if new else [], False)


def _corrected(case: Case, path: Text, missing: Any, safe: bool) -> tuple[Proposal, ...]:
    """The paths that name something once the part that failed is spelled as one of the names there are."""
    if hasattr(missing, "definitions"):
        return ()
    lead = f"{missing.parent}." if missing.parent else ""
    behind = path.value.removeprefix(f"{lead}{missing.part}")
    paths = [f"{lead}{name}{behind}" for name in missing.near]
    found = [p for p in paths if case.targets and hasattr(case.targets.read(p).found, "definitions")]
    return _renamed(case, path, found, safe)


def _renamed(case: Case, path: Text, names: list[str], safe: bool) -> tuple[Proposal, ...]:
    # A name of Python code is bound by an import: it is not renamed by writing another one.
    if case.plan.source.cut(path.span).strip("\"'") != path.value:
        return ()
    return rename_to_one([path.span], path.value, names, safe)


def _finding(
    injection: Injection, message: str, advice: str, severity: str | None, fixes: tuple[Proposal, ...] = ()
) -> Finding:
    return Finding(
        injection.path.span,
        message,
        advice,
        injection.entry,
        None,
        injection.field,
        fixes=fixes,
        severity=severity or injection.severity,
    )
