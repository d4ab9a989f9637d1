"""Random Python programs that build plan dicts: well-behaved ones that can be run, and strange ones."""

from random import Random

HEAD = """\
AXIS = 'tp'
S = ModuleShardingSpec(region_dispatch=True)
n, items = 2, [1, 2]
def key(i, name='k'):
    return f'{name}.{i}'
def spec(dim=0):
    if dim > 2:
        return S
    return ModuleShardingSpec(params={'v': {AXIS: Shard(dim)}})
def build(count, *, first='f'):
    made = {first: S}
    for i in range(count):
        made[key(i)] = spec(i)
    return made
p, q = {'s': S}, {'t': S}
"""


class Sensible:
    """Writes programs that mostly run; ``p`` holds the plan in the end."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def program(self) -> str:
        return HEAD + "\n".join(self.block(2)) + "\n"

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def number(self, depth: int = 1) -> str:
        simple = self.pick("0", "1", "2", "3", "n")
        if depth == 0:
            return simple
        inner = self.number(depth - 1)
        return self.pick(
            simple, f"({inner} {self.pick('+', '-', '*', '%', '//')} ({self.number(depth - 1)} + 1))", "len(p)",
            f"max({inner}, 1)", f"sum(range({inner}))", "items[0]", f"(-{inner})", f"abs({inner} - 2)",
            "len(items[1:])",
        )  # fmt: skip

    def key(self) -> str:
        number, name = self.number(), self.pick("a", "b", "model.layers.0", "mlp")
        return self.pick(
            repr(name), f"f'{name}.{{{number}}}'", f"f'{name}.{{{number}:02d}}'", f"'{name}.%d' % ({number})",
            f"'{name}.{{}}'.format({number})", f"'.'.join(['{name}', str({number})])", f"'{name}.' + str({number})",
            f"key({number})", f"key(i={number}, name={name!r})", f"{name!r}.upper()", f"('x' if {number} else 'y')",
            f"{name!r} * ({number} % 3)", f"{name!r}[{number} % 3 :]", f"(lambda i: f'{{i}}')({number})",
            f"({number} and 'a' or 'b')", "sorted(p)[0]", "(next_ if False else 'e')", f"{name!r}.split('.')[-1]",
        )  # fmt: skip

    def spec(self) -> str:
        axis = self.pick("'tp'", "'cp'", "AXIS")
        return self.pick(
            f"ModuleShardingSpec(params={{'w': {{{axis}: Shard({self.number()})}}}})",
            f"ModuleShardingSpec(region_dispatch={self.pick('True', 'False')})",
            f"ModuleShardingSpec(inner_target={self.key()})",
            f"ModuleShardingSpec(**{{'region_dispatch': {self.number()} > 1}})",
            f"ModuleShardingSpec(params={{f'w{{i}}': {{{axis}: Shard(i)}} for i in range({self.number()})}})",
            f"ModuleShardingSpec(region_dispatch={self.number()} in (1, 2) and not {self.number()} == 2)",
            "S", f"spec({self.number()})", "list(p.values())[-1]", "p.get('s', S)",
        )  # fmt: skip

    def dict(self, depth: int = 2) -> str:
        key, spec, number = self.key(), self.spec(), self.number()
        options = [
            f"{{{key}: {spec}}}", f"{{{key}: {spec}, {self.key()}: {self.spec()}}}", f"dict([({key}, {spec})])",
            f"{{f'l.{{i}}': {spec} for i in range({number})}}", f"{{k: {spec} for k in ['a', {key}] if k != 'a'}}",
            f"{{f'{{i}}.{{k}}': v for i, (k, v) in enumerate(zip(('x', {key}), [S, {spec}]))}}",
            f"{{k: v for k, v in p.items() if k < {key}}}", f"build({number})", f"build(count={number}, first={key})",
            f"{{f'{{i}}{{j}}': S for i in range({number}) for j in range(i)}}", "{}", "dict(p)",
            f"dict(zip(['a', {key}], [{spec}, {self.spec()}]))", "{k: p[k] for k in reversed(list(p))}",
        ]  # fmt: skip
        if depth > 0 and self.random.random() < 0.4:
            left, right = self.dict(depth - 1), self.dict(depth - 1)
            options = [
                f"{{**{left}, {key}: {spec}}}", f"{{{key}: {spec}, **{left}}}", f"({left}) | ({right})",
                f"dict({left}, z={spec})", f"({left} if {number} > 1 else {right})", f"({left}).copy()",
                f"({left} or {right})",
            ]  # fmt: skip
        return self.pick(*options)

    def statement(self, depth: int) -> list[str]:
        variable, key, spec, number = self.pick("p", "q"), self.key(), self.spec(), self.number()
        options = [
            [f"{variable} = {self.dict()}"], [f"{variable}[{key}] = {spec}"], [f"{variable}.update({self.dict(1)})"],
            [f"{variable} |= {self.dict(1)}"], [f"{variable}.setdefault({key}, {spec})"], ["p, q = q, p"],
            [f"{variable}.pop({key}, None)"], [f"n = {number}"], [f"items.append({number})"], ["q = p"],
            [f"items += [{number}, n]"], [f"if {key} in {variable}:", f"    del {variable}[{key}]"],
            [f"{variable} = dict({self.pick('p', 'q')})"], ["q = p.copy()"], [f"p[k := {key}] = {spec}", "q[k] = p[k]"],
        ]  # fmt: skip
        if depth > 0 and self.random.random() < 0.5:
            body, other = ([f"    {line}" for line in self.block(depth - 1)] for _ in range(2))
            deeper = [f"    {line}" for line in body]
            options = [
                [f"for n in range({number} % 4):", *body], [f"for n, k in enumerate(['a', {key}]):", *body],
                ["for k, v in list(q.items()):", "    p[k + '.x'] = v"], [f"if {number} > 2:", *body, "else:", *other],
                ["for n in items[:3]:", *body, "else:", *other], [f"if len({variable}) < {number}:", *body],
                ["for n in (1, 2, 3):", f"    if n == {number} % 4:", "        break", *body],
                ["for n in (1, 2, 3):", f"    if n == {number} % 4:", "        continue", *body, "else:", *other],
                ["i = 0", "while i < 3:", "    i += 1", *body],
                [f"match {number} % 3:", "    case 0 | 1:", *deeper, "    case m:", "        n = m"],
                ["def local(p, n=1):", *body, "    return p", f"q = local({self.dict(1)})"],
            ]  # fmt: skip
        return self.random.choice(options)

    def block(self, depth: int) -> list[str]:
        return [line for _ in range(self.random.randint(1, 4)) for line in self.statement(depth)]


_OPERATORS = (
    "+", "-", "*", "/", "//", "%", "**", "|", "&", "^", "<<", ">>", "@", "and", "or", "<", "==", "is", "in", "!=", ">=",
    "not in", "is not",
)  # fmt: skip
_METHODS = (
    "update", "items", "get", "append", "format", "join", "plan", "split", "x", "pop", "copy", "setdefault", "extend",
    "value", "insert", "zfill", "replace", "keys", "clear", "values", "remove", "sort", "index", "lower", "dim",
)  # fmt: skip
_CALLED = (
    "ModuleShardingSpec", "Shard", "Partial", "Replicate", "Target", "ShardingPlanner", "MeshAxisName", "len", "dict",
    "list", "set", "sorted", "enumerate", "zip", "str", "int", "min", "max", "sum", "any", "all", "abs", "tuple",
    "reversed", "range", "f", "S", "x", "bool", "float", "repr", "iter", "copy.deepcopy", "copy.copy", "C",
    "dataclasses.replace", "functools.partial", "itertools.product", "itertools.chain",
    "itertools.chain.from_iterable", "types.M", "typing.cast",
)  # fmt: skip
_ARGUMENTS = (
    "", "{}", "*{}", "**{}", "params={}", "key={}", "{}, {}", "plan_overrides={}", "derive={}", "{}, x={}", "dim={}",
)  # fmt: skip
_ATOMS = (
    "x", "TP", "1", "'a'", "None", "plan", "S", "f", "range(3)", "b''", "...", "1.5", "unknown", "Axis", "C", "True",
    "[]", "{}", "()", "-1", "'a.b'", "10**9", "1j", "Shard", "CP", "args",
)  # fmt: skip


class Strange:
    """Writes programs that parse, and hardly ever make sense."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def expression(self, depth: int = 3) -> str:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.2:
            return pick(_ATOMS)
        a, b, c = (self.expression(depth - 1) for _ in range(3))
        return pick([
            f"({a} {pick(_OPERATORS)} {b})", f"{{{a}: {b}}}", f"({a})[{b}]", f"{{**{a}, 'k': {b}}}", f"({a}, *{b})",
            f"[i for i in {a} if {b}]", f"{{i: j for i, j in {a} for _ in {b}}}", f"({a} if {b} else {c})",
            f"({a})[{b}:{c}]", f"(lambda x: {a})", self.text(a), f"(not {a})", f"(-({a}))", f"(z := {a})",
            f"({a}).{pick(_METHODS)}({b})", f"({a}).{pick(_METHODS)}", f"{{{a}, {b}}}", f"(i for i in {a})",
            f"(~({a}))", f"{pick(_CALLED)}({pick(_ARGUMENTS).replace('{}', a)})",
            f"{pick(_CALLED)}({pick(_ARGUMENTS).replace('{}', b)})",
        ])  # fmt: skip

    @staticmethod
    def text(inner: str) -> str:
        """An f-string around an expression, where that may stand in one."""
        unfit = any(part in inner for part in ("'''", "lambda", ":="))
        return inner if unfit else f"f'''{{ x }}.{{ {inner} }}'''"

    def program(self) -> str:
        lines = [
            "import copy, dataclasses, functools, itertools, types, typing",
            "S = ModuleShardingSpec()",
            "plan = {'a': S}",
        ]
        lines += ["def f(x, *a, k=1, **kw):", f"    return {self.expression()}"]
        lines += ["class C:", f"    x = {self.expression()}"]
        for _ in range(self.random.randint(1, 6)):
            a, b = self.expression(), self.expression()
            lines += self.random.choice([
                [f"x = {a}"], [f"plan[{a}] = {b}"], [f"plan |= {a}"], [f"x += {a}"], [f"x, *y = {a}"], [f"x.y = {a}"],
                [f"for x in {a}:", f"    plan[x] = {b}"], [f"while {a}:", f"    x = {b}"], [f"x: int = {a}"],
                [f"if {a}:", f"    plan = {b}"], [f"with {a} as x:", f"    plan.update({b})"], [f"del plan[{a}]"],
                ["try:", f"    x = {a}", "except E as x:", f"    plan = {b}"], [f"S.params = {a}"], [f"C.x = {a}"],
                [f"match {a}:", "    case 1 | 'a':", "        pass", "    case [y, *_]:", f"        x = {b}"],
                ["def g(x=1, *, y):", f"    plan[x] = {a}", f"    return {b}"], [f"x[{a}] += {b}"], ["global x"],
                [f"class D({a}):", f"    y = {b}"],
                [f"@{self.random.choice(['f', 'x.y', 'cache'])}", f"def h(a=({a})):", f"    yield {b}"],
            ])  # fmt: skip
        return "\n".join(lines) + "\n"
