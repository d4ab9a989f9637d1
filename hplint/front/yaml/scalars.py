"""What a YAML 1.1 scalar means, as PyYAML's safe loader reads it: ``on`` is true, ``1:30`` is 90, ``010`` is 8."""

import math
import re

from yaml.resolver import Resolver

_TAG = "tag:yaml.org,2002:"
STR, INT, FLOAT, BOOL, NULL, MERGE, VALUE = (
    _TAG + name for name in ("str", "int", "float", "bool", "null", "merge", "value")
)
_KINDS = {_TAG + "timestamp": "date", _TAG + "binary": "binary value"}
_BOOLS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.\d*)?.*)?", re.S)

Value = str | int | float | bool | None


class BadScalar(ValueError):
    """The scalar is not what its tag or its form says; the text finishes the sentence "`…` …"."""


def implicit_tag(text: str) -> str:
    """The tag that a plain, untagged scalar gets."""
    for tag, pattern in Resolver.yaml_implicit_resolvers.get(text[:1], ()):
        if pattern.match(text):
            return str(tag)
    return STR


def construct(tag: str, text: str) -> tuple[Value, str]:
    """The value of a scalar and its kind (see ``nodes.Scalar``). Raises BadScalar, also for unknown tags."""
    try:
        if tag == STR:
            return text, ""
        if tag == NULL:
            return None, ""
        if tag == BOOL:
            return _BOOLS[text.lower()], ""
        if tag == INT:
            return _int(text), ""
        if tag == FLOAT:
            return _float(text), ""
    except (ValueError, KeyError, IndexError, OverflowError):
        raise BadScalar(f"is no {tag.removeprefix(_TAG)}") from None
    if tag == _TAG + "timestamp":
        return _date(text), "date"
    if tag in _KINDS:
        return text, _KINDS[tag]
    if tag == VALUE:
        raise BadScalar("has a meaning of its own in YAML 1.1 and cannot be read; quote it")
    raise BadScalar(f"has the tag `{short_tag(tag)}`, which a safe YAML loader refuses")


def short_tag(tag: str) -> str:
    """A tag as people write it."""
    return "!!" + tag[len(_TAG) :] if tag.startswith(_TAG) else tag


def _signed(text: str) -> tuple[int, str]:
    text = text.replace("_", "").lower()
    return (-1 if text[0] == "-" else 1), text[1:] if text[0] in "+-" else text


def _int(text: str) -> int:
    sign, digits = _signed(text)
    if digits == "0":
        return 0
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if digits[0] == "0":
        return sign * int(digits, 8)
    total = 0
    for part in digits.split(":"):
        total = total * 60 + int(part)
    return sign * total


def _float(text: str) -> float:
    sign, digits = _signed(text)
    if digits == ".inf":
        return sign * math.inf
    if digits == ".nan":
        return math.nan
    total = 0.0
    for part in digits.split(":"):
        total = total * 60 + float(part)
    return sign * total


def _date(text: str) -> str:
    """The text again, once it is known to be a date."""
    match = _TIMESTAMP.fullmatch(text)
    if match:
        month, day, hour, minute, second = (int(g) if g else 0 for g in match.groups()[1:])
        leap = int(match[1]) % 4 == 0 and (int(match[1]) % 100 != 0 or int(match[1]) % 400 == 0)
        days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
        is_day = int(match[1]) and 1 <= month <= 12 and 1 <= day <= days[month - 1]
        if is_day and hour < 24 and minute < 60 and second < 60:
            return text
    raise BadScalar("is no date, though YAML reads it as one; quote it")
