"""Checks and fixes the plans of rule pages, each against the model and the mesh that its attributes name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hplint.config.mesh import parse_mesh
from hplint.errors import RequestError
from hplint.fix.loop import Checked, fix_text
from hplint.front.read import read_document
from hplint.ide.rule_page import SUFFIXES, Block
from hplint.lint.diagnostic import Diagnostic
from hplint.lint.pairing import pair
from hplint.lint.registry import Registry
from hplint.lint.request import CheckedPlan, Request
from hplint.lint.run import Engine
from hplint.lint.select import Selection
from hplint.lint.session import lint
from hplint.model.tree import ModuleTree
from hplint.text.near import near
from hplint.text.wording import listing, quote

if TYPE_CHECKING:
    from hplint.derive.boundary import Boundary
    from hplint.resolve.topology import Topology

FLAGS = ("sequence_parallel", "loss_parallel", "derive")
NUMBERS = ("ep", "seq_len")
ATTRIBUTES = ("model", "mesh", "reader", *NUMBERS, *FLAGS)


class PageError(ValueError):
    """A plan of a page whose attributes or language cannot be used."""


class PageRunner:
    """``trees`` is the folder of the module trees that ``model=NAME`` names (NAME.json); ``base`` the folder from which
    the paths in plans count; ``src`` the folders in which injected functions are looked up."""

    def __init__(self, registry: Registry, trees: Path, base: Path, src: tuple[Path, ...] = ()) -> None:
        from hplint.targets.find import TargetFinder

        self.registry = registry
        self.trees = trees
        self.base = base
        self.finder = TargetFinder(list(src))
        self.engine = Engine(registry, Selection(), self._derive)
        self._models: dict[str, ModuleTree] = {}
        self._derived: dict[Any, dict[str, Boundary]] = {}

    def check(self, block: Block, text: str) -> Checked:
        """What is found in a text that stands in the place of a block's. Raises PageError."""
        if block.language not in SUFFIXES:
            raise PageError(f"{quote(block.language)} is no language of plans; these are {listing(SUFFIXES)}")
        name = f"plan{SUFFIXES[block.language]}"
        if "# hplint: model=" in text or "pretrained_model_name_or_path" in text:
            path = str(self.base / name)
            run = lint(Request(("-",), stdin=text.encode(), stdin_filename=path, use_cache=False))
            return Checked(run.diagnostics, run.plans)
        document = read_document(name, text.encode())
        found = self.engine.check_document(document)
        engine = replace(self.engine, settings={"reader": block.attributes.get("reader")})
        plans = []
        request, tree = self._setting(block)
        for plan in document.plans:
            pairing = pair(document, plan, request)
            for topology, faults in pairing.topologies:
                own, resolved = engine.check(plan, tree, topology, self.finder, (*pairing.faults, *faults))
                found += own
                plans.append(CheckedPlan(name, plan, topology, None, tree, resolved, tuple(own), self.finder))
        return Checked(sorted(found, key=lambda d: (d.span, d.code)), plans)

    def fix(self, block: Block, text: str, unsafe: bool) -> str:
        """The text after ``--fix``, or after ``--fix --unsafe-fixes``."""
        return fix_text(text, lambda changed: self.check(block, changed), unsafe).text

    def _setting(self, block: Block) -> tuple[Request, ModuleTree | None]:
        given = block.attributes
        for name in given:
            if name not in ATTRIBUTES:
                raise PageError(f"unknown attribute {quote(name)}; known are {listing(ATTRIBUTES, most=99)}")
        options: dict[str, Any] = {k: given[k] == "true" for k in FLAGS if k in given}
        try:
            options |= {k: int(given[k]) for k in NUMBERS if k in given}
            meshes = (parse_mesh(given["mesh"]),) if "mesh" in given else ()
        except (ValueError, RequestError) as error:
            raise PageError(f"an attribute cannot be read: {error}") from None
        return Request((), meshes=meshes, **options), self._tree(given["model"]) if "model" in given else None

    def _tree(self, name: str) -> ModuleTree:
        if name not in self._models:
            file = self.trees / f"{name}.json"
            try:
                self._models[name] = ModuleTree.from_json(json.loads(file.read_bytes()))
            except FileNotFoundError:
                meant = near(name, (p.stem for p in self.trees.glob("*.json")))
                advice = f"; did you mean {listing(meant, 'or')}?" if meant else ""
                raise PageError(f"there is no module tree {quote(file.as_posix())}{advice}") from None
            except (OSError, ValueError) as error:
                raise PageError(f"the module tree {quote(file.as_posix())} cannot be read: {error}") from None
        return self._models[name]

    def _derive(self, tree: ModuleTree, topology: "Topology") -> "dict[str, Boundary]":
        from hplint.derive.derive import derive_boundaries

        key = (id(tree), repr(topology))
        if key not in self._derived:
            self._derived[key] = derive_boundaries(tree, topology)
        return self._derived[key]


def spelled(diagnostics: "list[Diagnostic] | tuple[Diagnostic, ...]") -> str:
    """Diagnostics as a findings block has them: ``line:column: CODE message``, a line each."""
    lines = []
    for d in diagnostics:
        line, column = d.source.position(d.span.start)
        lines.append(f"{line}:{column}: {d.code} {d.message}\n")
    return "".join(lines)
