"""Descriptions in a schema: what a key is, what it must be, and what the rules say about it."""

from hplint.front.keys import Key
from hplint.lint.registry import Registry
from hplint.report.page import first_sentence, section

_RULES = {
    "match": ("HPL101", "HPL102", "HPL103", "HPL007"),
    "when": ("HPL006",),
    "params": ("HPL104", "HPL205", "HPL206", "HPL207", "HPL307"),
    "in_src": ("HPL105", "HPL304"),
    "in_dst": ("HPL105", "HPL208"),
    "out_src": ("HPL313", "HPL303"),
    "out_dst": ("HPL208", "HPL313"),
    "region_dispatch": ("HPL401", "HPL402"),
    "inner_target": ("HPL403", "HPL404"),
    "inner_wrapper": ("HPL405", "HPL408", "HPL409"),
    "inner_out_src": ("HPL406", "HPL407"),
    "local_compute_fn": ("HPL411", "HPL501", "HPL508"),
    "replace_module": ("HPL501", "HPL512", "HPL513"),
    "module_type": ("HPL511",),
    "tp_divide_attrs": ("HPL318",),
}
"""Key of an entry -> the rules that say most about it."""


class Texts:
    """Words keys by the table of plan keys and by the pages of the rules."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def describe(self, key: Key) -> dict[str, str]:
        """``description`` for any reader, ``markdownDescription`` for editors that typeset it: the same text, since
        the YAML extension shows the first one where a value may be several things."""
        rules = [line for code in _RULES.get(key.name, ()) if (line := self._rule(code))]
        marked = f"{key.doc[:1].upper()}{key.doc[1:]}: {key.allowed}."
        if rules:
            marked += "\n\nRules:\n" + "\n".join(rules)
        return {"description": marked, "markdownDescription": marked}

    def _rule(self, code: str) -> str:
        rule = self.registry.get(code)
        if rule is None:
            return ""
        try:
            told = first_sentence(section(self.registry.page(rule), "What it does"))
        except OSError:
            return ""
        return f"- **{rule.code}** {rule.name}: {told}"
