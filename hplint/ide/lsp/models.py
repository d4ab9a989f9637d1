"""Models while plans are written: from the cache at once, built in the background, never without trust."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hplint.lint.pairing import ModelChoice
from hplint.model.spec import SpecError, parse_spec
from hplint.model.store import ModelError, load_cached
from hplint.model.tree import ModuleTree

Loaded = ModuleTree | ModelError
Load = Callable[[ModelChoice, tuple[str, ...]], Loaded]
_READ_ONLY = ("tree", "safetensors")
"""Kinds of models for which nothing of the user's runs."""


@dataclass
class Models:
    """The models of all open plans.

    ``trusted``: model factories may run. ``begins`` and ``ends`` are called around a build, with a key and the spec,
    ``ends`` from the building thread. ``untrusted`` is called with the spec of a model that may not be built, once.
    """

    trusted: bool
    begins: Callable[[str, str], None]
    ends: Callable[[str, str], None]
    untrusted: Callable[[str], None]
    known: dict[tuple[object, ...], Loaded] = field(default_factory=dict)
    building: set[tuple[object, ...]] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    generation: int = 0

    def find(self, choice: ModelChoice, src: tuple[str, ...], load: Load) -> Loaded | None:
        """The model, why there is none, or None: it is not there yet, or may not be built."""
        key = (choice.spec, choice.base, src if choice.spec.startswith("py:") else ())
        if key in self.known:
            return self.known[key]
        if key in self.building:
            return None
        found = self._at_once(choice, src, load)
        if found is not None:
            self.known[key] = found
            return found
        if not self.trusted:
            if choice.spec not in self.refused:
                self.refused.add(choice.spec)
                self.untrusted(choice.spec)
            return None
        self._build(key, choice, src, load)
        return None

    def forget(self) -> None:
        """Something that models are made of has changed: each is looked up again."""
        self.generation += 1
        self.known.clear()

    def _at_once(self, choice: ModelChoice, src: tuple[str, ...], load: Load) -> Loaded | None:
        try:
            spec = parse_spec(choice.spec, choice.base)
            return load(choice, src) if spec.kind in _READ_ONLY else load_cached(spec, src)
        except SpecError as error:
            return ModelError(error.message, error.hint)
        except ModelError as error:
            return error

    def _build(self, key: tuple[object, ...], choice: ModelChoice, src: tuple[str, ...], load: Load) -> None:
        self.building.add(key)
        token = f"hplint-build-{len(self.known)}-{self.generation}-{len(self.building)}"
        generation = self.generation
        self.begins(token, choice.spec)

        def build() -> None:
            try:
                found: Loaded = load(choice, src)
            except SpecError as error:
                found = ModelError(error.message, error.hint)
            except Exception as error:
                found = ModelError(f"a fault of hplint itself: {type(error).__name__}: {error}")
            if generation == self.generation:
                self.known[key] = found
            self.building.discard(key)
            self.ends(token, choice.spec)

        threading.Thread(target=build, name=f"hplint model {choice.spec}", daemon=True).start()
