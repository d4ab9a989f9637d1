"""Writes the files of hplint init beside what is there already: nothing is overwritten unasked, comments stay."""

from pathlib import Path
from typing import NamedTuple

from hplint.errors import RequestError
from hplint.ide.jsonc import JsoncError, add_item, add_member, parse
from hplint.ide.schema import MARK
from hplint.ide.workflows import Piece

WRITTEN, ADDED, THERE, LEFT = "written", "added to", "there already", "left as it is"


class Outcome(NamedTuple):
    """What became of one piece: one of the words above."""

    piece: Piece
    what: str


def write_pieces(pieces: list[Piece], folder: Path, force: bool = False) -> list[Outcome]:
    """Write files below a folder. A JSON file that is there gets what it lacks; any other is left as it is, unless
    ``force`` replaces it. Raises RequestError where a file cannot be read or written."""
    return [Outcome(piece, _write(piece, folder / piece.path, force)) for piece in pieces]


def _write(piece: Piece, path: Path, force: bool) -> str:
    old = _read(path)
    if old is not None:
        if old == piece.text or (piece.sign and piece.sign in old and not force):
            return THERE
        if not force and not (piece.ours and MARK in old):
            merged = _merged(piece, old) if piece.merge else None
            if merged == old:
                return THERE
            if merged is None:
                return LEFT
            _save(path, merged)
            return ADDED
    _save(path, piece.text)
    return WRITTEN


def _merged(piece: Piece, text: str) -> str | None:
    """A JSON file with what a piece adds to it, text for text; None where that clashes with what it says."""
    try:
        for path, key, value in piece.merge:
            here = parse(text)
            for part in path:
                here = here.get(part, {}) if isinstance(here, dict) else {}
            if key is None:
                if value in here:
                    continue
                # A task of that name that somebody changed is theirs.
                if any(isinstance(item, dict) and item.get("label") == value["label"] for item in here):
                    return None
                text = add_item(text, path, value)
            elif key not in here:
                text = add_member(text, path, key, value)
            else:
                for name, inner in value.items():
                    if here[key].get(name) == inner:
                        continue
                    text = add_member(text, (*path, key), name, inner)
    except (JsoncError, AttributeError, TypeError):
        return None
    return text


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise RequestError(f"{path.as_posix()} cannot be read: {reason}") from None


def _save(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    except OSError as error:
        raise RequestError(f"{path.as_posix()} cannot be written: {error.strerror}") from None
