"""Every rule page is run: bad plans give exactly the findings of their block, good plans give none, and fixing makes of
them what the page shows.

``pytest tests/test_rule_pages.py --update-pages`` rewrites the findings blocks and the fixed ones, and adds one where a
page that promises a fix has none yet; review them line by line. Authors of other rules have the same in
``hplint rules test --update``.
"""

from functools import cache
from pathlib import Path

import pytest
from checking import FIXTURES

from hplint.ide.page_check import check_page, update_page
from hplint.ide.page_run import PageRunner
from hplint.ide.rule_page import Page, find_pages
from hplint.lint.registry import Registry
from hplint.lint.rule_packages import BUILT_IN

RULES = Path(__file__).parent.parent / "rules"


@cache
def runner() -> PageRunner:
    src = (FIXTURES / "conformance", FIXTURES / "targets")
    return PageRunner(Registry((BUILT_IN,)), FIXTURES / "trees", FIXTURES, src)


@pytest.mark.parametrize("page", find_pages(RULES), ids=lambda p: p.path.stem)
def test_a_page_shows_what_its_rule_finds_and_what_fixing_makes_of_it(
    page: Page, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--update-pages"):
        update_page(page, runner())
    assert check_page(page, runner()) == []


def test_every_rule_has_a_page() -> None:
    assert [r.page for r in Registry() if not Path(r.page).exists()] == []
