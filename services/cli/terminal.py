"""What commands print on a terminal: characters that it would obey are shown as escapes, wherever the text came from.

Rows, names, errors of SQL and lines of functions are a tenant's; on the operator's terminal an escape sequence of theirs could write
over other lines, set the clipboard or the title. Colours that click sets pass. Pipes and files get every text as it is.
"""

import re
import sys
from typing import Any, TextIO

_OBEYED = re.compile(
    r"(\x1b\[(?:[0-2]|3[0-7]|9[0-7])m)"
    r"|\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


class GuardedTerminal:
    """A text stream whose `write` escapes what a terminal obeys; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text and return its length. Raises: OSError."""
        self._stream.write(shown(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts. Raises: OSError."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def shown(text: str) -> str:
    """Return a text as a terminal gets it (pure)."""
    return _OBEYED.sub(lambda match: match[1] or match[0].encode("unicode_escape").decode(), text)


def guard_terminals() -> None:
    """Guard the standard streams of this process that are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, GuardedTerminal) and stream.isatty():
            setattr(sys, name, GuardedTerminal(stream))
