"""A finding in words, for formats that have one text for all of it."""

from hplint.lint.diagnostic import Diagnostic


def message(diagnostic: Diagnostic) -> str:
    """What is wrong, and on which topologies where it is not all."""
    note = diagnostic.topology_note
    return f"{diagnostic.message} ({note})" if note else diagnostic.message


def advice(diagnostic: Diagnostic) -> str:
    """The message and, in a line of its own, what to do."""
    text = message(diagnostic)
    return f"{text}\nhelp: {diagnostic.help}" if diagnostic.help else text
