"""The one table of options: command line, configuration file and ``# hplint:`` directives all read it."""

from typing import NamedTuple


class Option(NamedTuple):
    """``name`` is spelled with hyphens (directives use underscores). ``kind`` says what values it takes:

    text, texts (a string or a list of strings), meshes (mesh texts), count (a whole number of at least 1), flag,
    seconds (a number above 0), path, paths, table, ignores (a table of globs and rules), severities (a table of rules
    and severities), or words separated by ``|`` (one of these). ``default`` is in words.
    ``where`` are the places where it may stand: cli, config, plans (a ``[[tool.hplint.plans]]`` table), directive.
    """

    name: str
    kind: str
    default: str
    doc: str
    where: frozenset[str]


def _option(name: str, kind: str, default: str, doc: str, where: str) -> Option:
    return Option(name, kind, default, doc, frozenset(where.split()))


EVERYWHERE = "cli config plans directive"

OPTIONS = (
    _option(
        "model", "text", "the model that the plan file names",
        "Model to check against: hf:DIR-or-id, py:module:factory, safetensors:DIR or tree:FILE.", EVERYWHERE,
    ),
    _option(
        "mesh", "meshes", "the sizes that the plan file gives",
        "Mesh axes and sizes in mesh order, such as dp=2,tp=4. Given several times, each is checked.", EVERYWHERE,
    ),
    _option("ep", "count", "the size that the plan file gives, else 1", "Expert-parallel size.", EVERYWHERE),
    _option(
        "sequence-parallel", "flag", "the plan file, else off for YAML and on for Python plans",
        "Whether activations are cut along the sequence between boundaries.", EVERYWHERE,
    ),
    _option(
        "loss-parallel", "flag", "the plan file, else off",
        "Whether the logits stay cut along the vocabulary.", EVERYWHERE,
    ),
    _option(
        "derive", "flag", "on", "Whether boundaries are derived from the model before the plan applies.", EVERYWHERE
    ),
    _option("seq-len", "count", "unknown", "Sequence length that the axes must divide.", "cli config directive"),
    _option(
        "src", "paths", "the plan's folder and the working directory",
        "Folder in which injected functions and py: models are looked up; may be given several times.", EVERYWHERE,
    ),
    _option(
        "reader", "transformers|vllm", "transformers",
        "Who reads tp_plans: the transformers library, or vLLM too, whose other reading is then told.", "cli config",
    ),
    _option("select", "texts", "all rules", "Rules to run: codes, prefixes of codes, or names.", "cli config"),
    _option("ignore", "texts", "none", "Rules not to run.", "cli config"),
    _option("extend-select", "texts", "none", "Rules to run on top of the selected ones.", "cli config"),
    _option(
        "per-file-ignores", "ignores", "none",
        "Rules not to run on some files: GLOB:RULES on the command line, a table of globs and rules in a file.",
        "cli config",
    ),
    _option(
        "severity", "severities", "that of each rule",
        "Severity of rules: RULE=error, warning, info or off; a table of rules and severities in a file.", "cli config",
    ),
    _option(
        "fail-on", "error|warning|info|never", "warning", "Least severity that makes the exit code 1.", "cli config"
    ),
    _option(
        "baseline", "path", "none",
        "File of accepted findings, which are not told; --write-baseline writes it.", "cli config",
    ),
    _option(
        "skip-planless", "flag", "off",
        "Pass over named files that hold no plan, as hooks need that are given every changed file.", "cli",
    ),
    _option(
        "output-format", "full|concise|grouped|json|jsonl|sarif|github|gitlab|junit|rdjson|pylint", "full",
        "Format of the report: full, concise, grouped, json, jsonl, sarif, github, gitlab, junit, rdjson or pylint.",
        "cli config",
    ),
    _option(
        "planner", "built-in|hyper_parallel", "built-in",
        "Who derives boundaries: hplint itself, or the HyperParallel that is installed.", "config",
    ),
    _option("boundaries", "path", "none", "JSON file with boundaries to start from instead of derived ones.", "config"),
    _option(
        "wrappers", "texts", "none",
        "Names that this project registers in the wrapper registry, beside the shipped ones.", "config",
    ),
    _option("families", "table", "none", "Further model families for the derivation.", "config"),
    _option("build-timeout", "seconds", "300", "Seconds that building a model may take.", "cli config"),
)  # fmt: skip
BY_NAME = {option.name: option for option in OPTIONS}


def names(where: str) -> list[str]:
    """The options that may stand at a place, in the order of the table."""
    return [option.name for option in OPTIONS if where in option.where]
