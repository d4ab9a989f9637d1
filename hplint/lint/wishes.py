"""What a run wants to hear of: severities, per-file ignores and the baseline, from the command line and the
configuration together. Each is read only where somebody asked for it."""

from typing import TYPE_CHECKING, NamedTuple

from hplint.lint.registry import Registry
from hplint.lint.request import Request

if TYPE_CHECKING:
    from hplint.lint.baseline import Baseline
    from hplint.lint.per_file import PerFile
    from hplint.lint.severity import Severities


class Wishes(NamedTuple):
    """See the modules of the same names."""

    severities: "Severities"
    per_file: "tuple[PerFile, ...]" = ()
    baseline: "Baseline | None" = None


def read_wishes(registry: Registry, request: Request) -> Wishes:
    """Read them. Raises RequestError, with near names, for unknown rules and for a baseline that cannot be used."""
    _check_configured(registry, request)
    return Wishes(_severities(registry, request), _per_file(registry, request), _baseline(request))


def _check_configured(registry: Registry, request: Request) -> None:
    """Unknown rules of a configuration file are told with its name."""
    from hplint.lint.select import meant, words

    if (config := request.config) is None:
        return
    lists = {"select": config.select, "ignore": config.ignore, "extend-select": config.extend_select}
    for name, listed in lists.items():
        for word in words(listed):
            meant(registry, word, f"{config.path}: `{name}`")


def _severities(registry: Registry, request: Request) -> "Severities":
    config = request.config
    configured = config.severity if config else {}
    from hplint.lint.severity import parse_severity, read_severities

    asked = [(word, level, f"{config and config.path}: `severity`") for word, level in configured.items()]
    asked += [(word, level, "--severity") for text in request.severity for word, level in parse_severity(text)]
    return read_severities(registry, asked)


def _per_file(registry: Registry, request: Request) -> "tuple[PerFile, ...]":
    config = request.config
    configured = config.per_file_ignores if config else {}
    if not configured and not request.per_file_ignores:
        return ()
    from hplint.lint.per_file import parse_per_file, read_per_file

    base, where = (config.base, f"{config.path}: `per-file-ignores`") if config else (".", "")
    asked = [(glob, rules, base, where) for glob, rules in configured.items()]
    given = map(parse_per_file, request.per_file_ignores)
    asked += [(glob, rules, ".", "--per-file-ignores") for glob, rules in given]
    return read_per_file(registry, asked)


def _baseline(request: Request) -> "Baseline | None":
    path = request.baseline
    if path is None:
        path = request.config.baseline if request.config else None
    if not path:
        return None
    from hplint.lint.baseline import read_baseline

    return read_baseline(path)
