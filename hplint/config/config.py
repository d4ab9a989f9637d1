"""The settings of a project, as ``[tool.hplint]`` gives them."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hplint.config.glob import matches

Mesh = Mapping[str, int]
"""Axis -> size in mesh order."""


class PlanSettings(NamedTuple):
    """What a project says about the run of some plans. None (or empty): not said.

    ``model`` is a model spec as written; relative paths in it count from the folder of the configuration file
    (``base``). ``src`` are folders, joined with ``base`` already.
    """

    model: str | None = None
    mesh: tuple[Mesh, ...] = ()
    ep: int | None = None
    sequence_parallel: bool | None = None
    loss_parallel: bool | None = None
    derive: bool | None = None
    src: tuple[str, ...] = ()

    def over(self, other: "PlanSettings") -> "PlanSettings":
        """These settings, and ``other``'s wherever these say nothing."""
        return PlanSettings._make(b if a in (None, ()) else a for a, b in zip(self, other, strict=True))


class PlanRule(NamedTuple):
    """One ``[[tool.hplint.plans]]``: settings for the files that its globs match."""

    files: tuple[str, ...]
    settings: PlanSettings


class Config(NamedTuple):
    """All settings of one configuration file; ``Config()`` is a project without one.

    ``path`` is the file as found, ``base`` its folder, from which relative paths count. ``boundaries`` and
    ``baseline`` are paths joined with ``base``. ``build_timeout`` is in seconds.
    """

    path: str | None = None
    base: str = "."
    defaults: PlanSettings = PlanSettings()
    plans: tuple[PlanRule, ...] = ()
    seq_len: int | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    severity: Mapping[str, str] = MappingProxyType({})
    fail_on: str | None = None
    baseline: str | None = None
    wrappers: tuple[str, ...] = ()
    reader: str | None = None
    planner: str = "built-in"
    boundaries: str | None = None
    families: Mapping[str, Any] = MappingProxyType({})
    build_timeout: float | None = None
    output_format: str | None = None

    def settings_for(self, path: str) -> PlanSettings:
        """What holds for one file: the ``plans`` tables that match it, later ones first, then the general settings."""
        settings = PlanSettings()
        if self.plans:
            relative = self._relative(path)
            for rule in reversed(self.plans):
                if any(matches(glob, relative) for glob in rule.files):
                    settings = settings.over(rule.settings)
        return settings.over(self.defaults)

    def _relative(self, path: str) -> str:
        try:
            return os.path.relpath(path, self.base).replace(os.sep, "/")
        except ValueError:  # another drive
            return path.replace(os.sep, "/")
