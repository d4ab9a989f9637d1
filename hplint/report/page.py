"""The parts of a rule's page."""

import re

_FENCE = re.compile(r"^(```+[\w-]*)[^\n`]*$", re.MULTILINE)
_SENTENCE = re.compile(r"\.(?=\s|$)")


def body(page: str) -> str:
    """The page as people read it: without front matter and without the attributes of its fenced blocks."""
    text = page.replace("\r\n", "\n")
    if text.startswith("---\n") and (end := text.find("\n---\n", 4)) >= 0:
        text = text[end + 5 :]
    return _FENCE.sub(r"\1", text).strip() + "\n"


def section(page: str, title: str) -> str:
    """The prose of one ``## title`` section; "" where the page has none."""
    _, found, rest = page.replace("\r\n", "\n").partition(f"\n## {title}\n")
    return re.split(r"\n(?:## |```)", f"\n{rest}", maxsplit=1)[0].strip() if found else ""


def first_paragraph(text: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(text.partition("\n\n")[0].split())


def first_sentence(text: str) -> str:
    """The first sentence of a section, on one line, without its stop."""
    line = first_paragraph(text)
    found = _SENTENCE.search(line)
    return line[: found.start()] if found else line
