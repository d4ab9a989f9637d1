from hplint.report.page import body, first_paragraph, first_sentence, section

PAGE = """\
---
code: HPL203
name: not-a-placement
---
# not-a-placement (HPL203)

## What it does
Reports a placement outside `shard(N)`
and others. A second sentence.

A second paragraph.

## Why is this bad
It stops.

## Example
```yaml bad model=toy mesh=dp=2,tp=2
- match: a
```
```findings
1:1: HPL203 x
```
"""


def test_the_body_has_no_front_matter_and_no_attributes_on_fences() -> None:
    text = body(PAGE)
    assert text.startswith("# not-a-placement (HPL203)\n")
    assert "```yaml\n- match: a\n```\n```findings\n" in text and "model=toy" not in text


def test_windows_line_ends_and_a_page_without_front_matter_are_fine() -> None:
    assert body(PAGE.replace("\n", "\r\n")) == body(PAGE)
    assert body("# title\n") == "# title\n"
    assert body("") == "\n"


def test_sections_and_their_first_words() -> None:
    text = section(PAGE, "What it does")
    assert first_sentence(text) == "Reports a placement outside `shard(N)` and others"
    assert first_paragraph(text) == "Reports a placement outside `shard(N)` and others. A second sentence."
    assert section(PAGE, "Why is this bad") == "It stops."
    assert section(PAGE, "Nothing") == ""
    assert section(PAGE, "Example") == ""
