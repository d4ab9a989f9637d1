"""Texts are kept once, on the desk: how lines are counted in them is then our own affair."""

from collections.abc import Iterator
from typing import Any

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method


class PlanProtocol(LanguageServerProtocol):
    """Hands changes of texts on as they come. The library's own copy counts line breaks that no client counts, and
    would be of no use."""

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Iterator[Any]:
        """Call the server's own handler alone."""
        if (handler := self.fm.features.get(types.TEXT_DOCUMENT_DID_CHANGE)) is not None:
            yield handler, (params,), None
