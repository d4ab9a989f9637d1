"""Writes random plans in random styles, so that editing them can be compared with changing the data behind them."""

import json
from random import Random
from typing import Any

NAMES = ["model.layers.0.mlp", "*.self_attn", "lm_head", "model.layers.?.mlp", "yes", "a: b", "it's", 'say "x"', "é.b",
         "model.norm", "0x1F", "null", "#no", "- x", "tail ", "model.layers.[01].mlp", "{x}", "1e3", "on"]  # fmt: skip
TENSORS = ["up_proj.weight", "down_proj.weight", "gate.weight", "no", "x y", "hidden_states", "output", "q:r"]
AXES = ["tp", "cp", "ep", "dp"]
PLACEMENTS = ["shard(0)", "replicate", "partial", "shard(1)", "Shard( 2 )"]
CONTRACT = ["params", "in_src", "in_dst", "out_src", "out_dst"]


def random_layout(rng: Random) -> dict[str, str]:
    return {a: rng.choice(PLACEMENTS) for a in rng.sample(AXES, rng.randint(1, 3))}


def random_value(field: str, rng: Random) -> Any:
    if field in CONTRACT:
        if rng.random() < 0.2:
            return rng.choice(["auto", "none"])
        return {t: random_layout(rng) for t in rng.sample(TENSORS, rng.randint(1, 4))}
    if field == "local_compute_fn":
        return {"_target_": "toy_kernels.fast_mlp", "block_size": rng.choice([64, 0.5, "on", None, True, [1, "a"]])}
    if field == "tp_divide_attrs":
        return rng.sample(["num_heads", "n", "head_dim"], rng.randint(1, 3))
    return {"when": rng.choice(["cp", "ep"]), "region_dispatch": rng.random() < 0.5}[field]


FIELDS = [*CONTRACT, "local_compute_fn", "tp_divide_attrs", "when", "region_dispatch"]


def random_fields(rng: Random) -> dict[str, Any]:
    return {f: random_value(f, rng) for f in rng.sample(FIELDS, rng.randint(1, 4))}


def random_plan(rng: Random) -> tuple[Any, str]:
    """The data of a plan and its form: list, mapping, or either below plan_overrides."""
    names = rng.sample(NAMES, rng.randint(1, 5))
    form = rng.choice(["list", "mapping", "overrides", "overrides-mapping"])
    entries: Any
    if "mapping" in form:
        entries = {n: random_fields(rng) for n in names}
        # One field that only entries have: a mapping of anything is no plan.
        entries[names[0]]["out_dst"] = "auto"
    else:
        entries = [dict(_shuffled({"match": n, **random_fields(rng)}, rng)) for n in names]
    if form.startswith("overrides"):
        return {"accelerator": {"tp_size": 2}, "plan_overrides": entries, "seed": 1}, form
    return entries, form


def _shuffled(fields: dict[str, Any], rng: Random) -> list[tuple[str, Any]]:
    items = list(fields.items())
    if rng.random() < 0.3:
        rng.shuffle(items)
    return items


class PlanWriter:
    """Block and flow style, quotes, comments, blank lines and indentation at random. ``comments`` maps the text of
    every comment to the path of the item that it belongs to."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.comments: dict[str, tuple[Any, ...]] = {}
        self.step = rng.choice([2, 2, 4])
        self.dash = rng.choice(["- ", "- ", "-   "])
        self.indent_lists = rng.random() < 0.5
        self.blank_entries = rng.random() < 0.4
        self.talkative = rng.random() * 0.5

    def write(self, data: Any) -> str:
        lines = ["# head of the file"] if self.rng.random() < 0.3 else []
        if lines and self.rng.random() < 0.5:
            lines.append("")
        lines += self.block(data, 0, ())
        text = "\n".join(lines) + self.rng.choice(["\n", "\n", ""])
        if self.rng.random() < 0.2:
            text = text.replace("\n", "\r\n")
        return ("\ufeff" if self.rng.random() < 0.1 else "") + text

    def comment(self, path: tuple[Any, ...]) -> str:
        text = f"# note {len(self.comments)}."
        self.comments[text] = path
        return text

    def maybe(self) -> bool:
        return self.rng.random() < self.talkative

    def block(self, value: Any, column: int, path: tuple[Any, ...]) -> list[str]:
        """The lines of a non-empty collection at a column."""
        pad, lines = " " * column, []
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for number, (key, inner) in enumerate(items):
            here = (*path, key)
            if number and len(path) <= 1 and self.blank_entries:
                lines.append("")
            # A comment at the top of the file is the file's.
            if self.maybe() and (path or number):
                lines.append(pad + self.comment(here))
            lines += self.item(key if isinstance(value, dict) else None, inner, column, here)
            if self.maybe() and len(path) <= 2:
                lines.append(f"{pad} {self.comment(here)}")
        return lines

    def item(self, key: str | None, inner: Any, column: int, here: tuple[Any, ...]) -> list[str]:
        pad = " " * column
        head = self.dash if key is None else f"{self.string(key, False)}: "
        is_block = isinstance(inner, dict | list) and inner and self.rng.random() < (0.85 if len(here) < 3 else 0.4)
        if not is_block:
            tail = f"  {self.comment(here)}" if self.maybe() else ""
            return [f"{pad}{head}{self.flow(inner, False, column)}{tail}"]
        if key is None:
            nested = self.block(inner, column + len(head), here)
            first = nested[0].strip()
            if first.startswith("#"):
                return [pad + "-", *nested]
            return [pad + head + first, *nested[1:]]
        offset = 0 if isinstance(inner, list) and not self.indent_lists else self.step
        tail = f"  {self.comment(here)}" if self.maybe() else ""
        return [f"{pad}{head.rstrip()}{tail}", *self.block(inner, column + offset, here)]

    def flow(self, value: Any, inside: bool, column: int) -> str:
        if isinstance(value, dict):
            parts = [f"{self.string(k, True)}: {self.flow(v, True, column)}" for k, v in value.items()]
            return self.enclosed("{", parts, "}", column)
        if isinstance(value, list):
            return self.enclosed("[", [self.flow(v, True, column) for v in value], "]", column)
        if isinstance(value, str):
            return self.string(value, inside)
        return json.dumps(value)

    def enclosed(self, left: str, parts: list[str], right: str, column: int) -> str:
        pad = "\n" + " " * (column + 6)
        comma = "," if parts and self.rng.random() < 0.2 else ""
        match self.rng.randint(0, 5):
            case 0:
                return f"{left}{pad}{f',{pad}'.join(parts)}{comma}\n{' ' * (column + 4)}{right}"
            case 1:
                return f"{left} {', '.join(parts)}{comma} {right}"
        return f"{left}{', '.join(parts)}{comma}{right}"

    def string(self, text: str, flow: bool) -> str:
        simple = text.replace("_", "").replace(".", "").replace("(", "").replace(")", "").isalnum()
        if simple and text not in ("yes", "no", "on", "null", "0x1F", "1e3") and self.rng.random() < 0.8:
            return text
        if self.rng.random() < 0.5:
            return json.dumps(text)
        return "'" + text.replace("'", "''") + "'"
