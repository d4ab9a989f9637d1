"""Trees and plans for the tests of resolution."""

from collections.abc import Mapping, Sequence

from hplint.front.read import read_document
from hplint.model.tree import ModuleClass, ModuleTree, Node, Tensor
from hplint.plan.plan import Plan

CLASS = ModuleClass("zoo.Block", ("torch.nn.modules.module.Module",), ())


def tree_of(names: Sequence[str], aliases: Mapping[str, str] | None = None, shared: bool = True) -> ModuleTree:
    """A tree with these modules and their ancestors; equal subtrees share a node (or none do)."""
    children: dict[str, dict[str, None]] = {"": {}}
    for name in names:
        path = ""
        for segment in name.split(".") if name else ():
            children[path].setdefault(segment)
            path = f"{path}.{segment}" if path else segment
            children.setdefault(path, {})
    nodes: list[Node] = []
    known: dict[object, int] = {}

    def node(path: str) -> int:
        below = tuple((s, node(f"{path}.{s}" if path else s)) for s in children[path])
        parameters = {} if below else {"weight": Tensor((4, 4), "float32", True)}
        key = below if shared else path
        if key not in known:
            known[key] = len(nodes)
            nodes.append(Node(0, parameters, {}, {}, below))
        return known[key]

    root = node("")
    return ModuleTree(classes=(CLASS,), nodes=tuple(nodes), root=root, aliases=aliases or {}, ties=(), config={})


def plan_of(text: str) -> Plan:
    """The plan of a YAML text."""
    return read_document("plan.yaml", text.encode()).plans[0]
