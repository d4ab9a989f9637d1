"""Why a key of a ``tp_plan`` names nothing, and which key was probably meant."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from hplint.model.family_source import family_words
from hplint.model.tree import ModuleTree
from hplint.plan.plan import Plan
from hplint.plan.style import Carrier, StyleEntry
from hplint.resolve.styles.resolved import ResolvedStyles
from hplint.resolve.tp_plan.match import generic, names_of
from hplint.resolve.tp_plan.shipped import shipped_plan
from hplint.text.near import near, one_near

WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module", "module")
"""Segments that wrappers put into names, and that models have not when their plan is applied."""
MOST = 4
"""Keys that are proposed for one."""
_COMMON = ("weight", "bias", "*", "")
"""Parts that tell nothing of which module is meant."""
_PATTERN = re.compile(r"[\[\](){}\\^$+?|]|\*\*|\.\*$|[^.]\*|\*[^.]")


class KeyMiss(NamedTuple):
    """``reached`` is the generic name (from the root of the model) of the module that the key leads to, ``segment`` the
    first part that leads nowhere, ``names`` what is there. ``meant`` are keys that name something, ``why`` says what
    tells them from this one: number, pattern, wrapper, adapter, prefix, inner, spelling, suffix, tied,
    outside (it names something, but not below the root); "" for none.
    ``sure``: the slip is plain from the key itself, whatever else the model may hold."""

    reached: str
    segment: str
    names: tuple[str, ...]
    why: str = ""
    meant: tuple[str, ...] = ()
    sure: bool = False


class KeyIndex:
    """What keys can name, counted from one module of a tree."""

    def __init__(self, tree: ModuleTree, root: str = "") -> None:
        self.root = generic(root)
        found = names_of(tree)
        prefix = f"{self.root}." if self.root else ""
        every = (*found.modules, *found.parameters)
        self.names = dict.fromkeys(n[len(prefix) :] for n in every if n.startswith(prefix))
        self.elsewhere = () if not prefix else tuple(n for n in every if not n.startswith(prefix) and n != self.root)
        self.below: dict[str, list[str]] = {}
        for name in self.names:
            above, _, last = name.rpartition(".")
            self.below.setdefault(above, []).append(last)
        self.tied = {generic(n)[len(prefix) :]: generic(tie[0])[len(prefix) :] for tie in tree.ties for n in tie[1:]}

    def miss(self, key: str, taken: Iterable[str] = ()) -> KeyMiss:
        """Look into a key that names nothing. Keys of ``taken`` are not proposed."""
        parts = key.split(".")
        at = next(i for i in range(1, len(parts) + 1) if i == len(parts) or ".".join(parts[:i]) not in self.names)
        reached = ".".join(parts[: at - 1])
        there = tuple(dict.fromkeys(self.below.get(reached, ())))
        full = f"{self.root}.{reached}".strip(".")
        if key in self.elsewhere:
            return KeyMiss(full, parts[at - 1], there, "outside", sure=True)
        used = set(taken)
        for why, sure, found in self._ideas(key, parts, at - 1, reached, there):
            meant = tuple(k for k in dict.fromkeys(found) if k in self.names and k not in used)
            if meant:
                return KeyMiss(full, parts[at - 1], there, why, meant, sure)
        return KeyMiss(full, parts[at - 1], there)

    def _ideas(
        self, key: str, parts: list[str], at: int, reached: str, there: tuple[str, ...]
    ) -> Iterator[tuple[str, bool, Iterable[str]]]:
        """What a key may have been meant to be, the likeliest first: why, whether that is plain, and the keys."""
        clean = key.strip(" .\t").replace("..", ".").replace("/", ".")
        yield "spelling", True, [clean]
        yield "number", True, [generic(clean)]
        yield "tied", True, [self.tied[key]] if key in self.tied else []
        if _PATTERN.search(key) or key.startswith("re:"):
            yield "pattern", True, self._fitting(key.strip())
            return
        bare = ".".join(p for p in parts if p not in WRAPPERS)
        yield "wrapper", True, [bare, *self._ending(bare.split("."))] if bare != key else []
        yield "adapter", True, [f"{key}.base_layer", _with_base(key)]
        yield "number", True, self._ending(generic(key).split(".")) if generic(key) != key else []
        yield "prefix", True, self._ending(parts)
        yield "prefix", True, self._ending_shorter(parts, 2)
        yield "inner", False, self._inserted(reached, parts[at:])
        yield "spelling", False, self._spelled("", parts)
        yield "inner", False, self._ending_shorter(parts, 1)
        yield "suffix", True, [key.rpartition(".")[0]] if parts[-1] in ("weight", "bias") else []

    def _ending(self, parts: list[str]) -> list[str]:
        """Names that end as a key does, with more before it."""
        if all(p in _COMMON for p in parts):
            return []
        tail = "." + ".".join(parts)
        return [n for n in self.names if n.endswith(tail)][:MOST]

    def _ending_shorter(self, parts: list[str], least: int) -> list[str]:
        """The same without the beginning of the key, of which at least so many telling parts stay."""
        for start in range(1, len(parts)):
            rest = parts[start:]
            if sum(p not in _COMMON for p in rest) < least:
                break
            whole = ".".join(rest)
            if found := [whole, *self._ending(rest)] if whole in self.names else self._ending(rest):
                return found
        return []

    def _inserted(self, reached: str, rest: list[str]) -> list[str]:
        """Names with one part more, or without one, where the key leads nowhere."""
        head = f"{reached}." if reached else ""
        tail = ".".join(rest)
        more = [f"{head}{name}.{tail}" for name in dict.fromkeys(self.below.get(reached, ()))]
        fewer = [head + ".".join(rest[1:])] if len(rest) > 1 else []
        return [*more, *fewer]

    def _spelled(self, head: str, parts: list[str]) -> list[str]:
        """Names whose parts are those of the key, or near them."""
        if not parts:
            return [head]
        there = dict.fromkeys(self.below.get(head, ()))
        first, found = parts[0], []
        clear = one_near(first, there)
        options = [first] if first in there else [clear] if clear else near(first, there)
        for name in options:
            found += self._spelled(f"{head}.{name}" if head else name, parts[1:])
        return found[:MOST]

    def _fitting(self, key: str) -> list[str]:
        """The names that a key fits as a pattern of another kind."""
        shape = _as_regex(key)
        deeper = re.compile(rf"(?:.*\.)?(?:{shape.pattern})")
        found = [n for n in self.names if shape.fullmatch(n)] or [n for n in self.names if deeper.fullmatch(n)]
        outer = [n for n in found if not any(n.startswith(f"{o}.") for o in found)]
        return outer[:MOST] if len(outer) <= 3 * MOST else []


def _with_base(key: str) -> str:
    """The key below the layer that an adapter wraps."""
    above, _, last = key.rpartition(".")
    return f"{above}.base_layer.{last}"


def _as_regex(key: str) -> re.Pattern[str]:
    """What a glob or a regular expression over numbered names says of names with ``*`` in them."""
    text = key.removeprefix("re:").removeprefix("^").removesuffix("$")
    numbers = r"\\d[+*]?|\[0-9\][+*]?|\[\d+(?:-\d+)?\]|\{\w*\}|\(\\d\+\)|\[\^?\.?\]\+"
    text = re.sub(numbers, "*", text).replace("\\.", ".")
    if re.search(r"[()|+]|\.\*", text.removesuffix(".*").replace(".*.", ".")):
        body = re.sub(r"(?<=\.)\*(?=\.)", r"\\*", text)
        with suppress(re.error):
            return re.compile(body)
    parts = (r"\*" if p == "*" else re.escape(p).replace(r"\*", r"[^.]*").replace(r"\?", ".") for p in text.split("."))
    body = r"\.".join(parts)
    if text.endswith(".*"):
        body = body.removesuffix(r"\*") + r"[^.]+"
    return re.compile(body.replace(r"[^.]*[^.]*", ".*"))


class Slip(NamedTuple):
    """An entry whose key names nothing though it should, and what it was looked up in."""

    entry: StyleEntry
    miss: KeyMiss
    keys: KeyIndex


def slips(plan: Plan, tree: ModuleTree, styles: ResolvedStyles) -> tuple[Slip, ...]:
    """The keys of a plan that are at fault for naming nothing.

    Let pass: keys of the plan that the model ships, keys for other configs of the same family, branches for other
    models, and plans of which nobody knows where they belong.
    """
    carrier = plan.carrier or Carrier()
    if carrier.kind == "builtin" or not styles.unmatched:
        return ()
    if styles.guessed and not any(styles.hits.get(e.index) for e in plan.styles):
        return ()
    passed = {"", *(shipped_plan(tree, carrier.section) if carrier.kind == "argument" else ())}
    words = family_words(tree) if carrier.kind != "argument" else None
    taken = [e.key.value for e in plan.styles if e.key]
    indexes: dict[str, KeyIndex] = {}
    found: list[Slip] = []
    for entry in styles.unmatched:
        roots = styles.roots.get(entry.index, ())
        if entry.key is None or not roots or entry.key.value in passed:
            continue
        index = indexes.setdefault(roots[0], KeyIndex(tree, roots[0]))
        miss = index.miss(entry.key.value, taken)
        elsewhere = words is not None and words.issuperset(entry.key.value.split("."))
        if miss.sure or not (elsewhere or ((entry.conditional or entry.glob) and not miss.meant)):
            found.append(Slip(entry, miss, index))
    return tuple(found)
