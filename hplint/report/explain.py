"""Rules' pages on the terminal."""

from hplint.errors import RequestError
from hplint.lint.registry import Registry
from hplint.report.page import body
from hplint.report.writer import Writer
from hplint.text.near import near
from hplint.text.wording import listing, quote


def explain_rules(registry: Registry, words: tuple[str, ...], writer: Writer) -> None:
    """Print the pages of rules, named by code or name: typeset where a terminal shows colours, as plain Markdown
    elsewhere. Raises RequestError, with near names, for a word that names no rule."""
    pages = [_page(registry, word) for word in words]
    for number, page in enumerate(pages):
        if number:
            writer.text("\n")
        _print(page, writer)
    writer.flush()


def _page(registry: Registry, word: str) -> str:
    rule = registry.get(word)
    if rule is None:
        names = near(word, [*registry.rules, *(r.name for r in registry)])
        hint = f"did you mean {listing(names, 'or')}?" if names else "`hplint rules` lists all rules"
        raise RequestError(f"unknown rule {quote(word)}", hint)
    try:
        return body(registry.page(rule))
    except OSError:
        raise RequestError(f"the rule {rule.code} {rule.name} has no page") from None


def _print(text: str, writer: Writer) -> None:
    if not (writer.is_terminal and writer.style.color):
        writer.text(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=writer.stream, force_terminal=True, width=writer.style.width)
    console.print(Markdown(text, code_theme="ansi_dark"))
