"""Where comments may be put: not into strings, nor behind a line end that a string or a backslash takes in."""

import io
import tokenize
from collections.abc import Iterable, Iterator

from hplint.text.comments import Comment, python_comments, yaml_comments
from hplint.text.source import BOM, Source
from hplint.text.span import Span


class CommentPlaces:
    """``comments`` are those of the text by their 1-based lines."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.comments: dict[int, Comment] = {}
        self._no_end: set[int] = set()
        self._no_start: set[int] = set()
        is_python = source.path.endswith(".py")
        for comment in self._python() if is_python else self._yaml():
            self.comments[source.position(comment.span.start).line] = comment
        if source.line(1).startswith("#!"):
            # What follows goes to the interpreter, and no line may stand before it.
            self._no_end.add(1)
            self._no_start.add(1)

    def takes_trailing(self, line: int) -> bool:
        """Whether a comment may be put at the end of a line."""
        return line not in self._no_end

    def takes_above(self, line: int) -> bool:
        """Whether a line of its own may be put above a line."""
        return line not in self._no_start

    def _close(self, first: int, last: int) -> None:
        """A token takes in the ends of these lines but the last."""
        self._no_end.update(range(first, last))
        self._no_start.update(range(first + 1, last + 1))

    def _python(self) -> Iterable[Comment]:
        text = self.source.text.removeprefix(BOM)
        opened: list[int] = []
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            name = tokenize.tok_name[token.type]
            if name in ("FSTRING_START", "TSTRING_START"):
                opened.append(token.start[0])
            elif name in ("FSTRING_END", "TSTRING_END"):
                self._close(opened.pop(), token.end[0])
            elif token.type == tokenize.STRING:
                self._close(token.start[0], token.end[0])
        found = list(python_comments(self.source.text))
        ends = {self.source.position(c.span.start).line for c in found}
        for line in range(1, len(self.source.starts)):
            if line not in ends and self.source.line(line).endswith("\\"):
                self._close(line, line + 1)
        return found

    def _yaml(self) -> Iterable[Comment]:
        opaque: list[Span] = []
        for span, is_block, is_plain in _scalars(self.source.text):
            first, last = (self.source.position(at).line for at in (span.start, max(span.start, span.end - 1)))
            if is_block:
                # Behind the `|` a comment may stand; behind the last line it would be text.
                self._no_end.update(range(first + 1, last + 1))
                self._no_start.update(range(first + 1, last + 1))
            else:
                self._close(first, last)
            if not is_plain:
                opaque.append(span)
        return yaml_comments(self.source.text, opaque)


def _scalars(text: str) -> Iterator[tuple[Span, bool, bool]]:
    """The scalars of a YAML text: place, whether it is a block, whether it is plain."""
    import yaml

    shift = len(text) - len(text.lstrip(BOM))
    body = text[shift:]
    try:
        events = list(yaml.parse(body, yaml.CSafeLoader))
    except (yaml.YAMLError, AttributeError):
        # What libyaml refuses or lacks, PyYAML's own parser may read.
        events = list(yaml.parse(body, yaml.SafeLoader))
    for event in events:
        if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark:
            start, end = event.start_mark.index, event.end_mark.index
            is_block = event.style in ("|", ">")
            if is_block:
                end = start + len(body[start:end].rstrip())
            yield Span(start + shift, end + shift), is_block, not event.style
