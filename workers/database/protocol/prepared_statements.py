"""The prepared statements of one connection. Pure.

Each text is prepared once per connection under a generated name; the least recently used statements are closed to make
room. The server keeps trees of about a hundred times a text, so the texts' length is bounded as well; long ones are not kept. Parse and Close travel with the next exchange: Parse directly before the first Bind of the statement, Close at the
very beginning, where no error can make the server skip it. A Parse that came after an error was skipped, so after each
exchange `confirm_parsed` drops the statements whose Parse did not succeed.
"""

from typing import NamedTuple

from workers.database.protocol import frontend_messages

MAX_PREPARED = 300
"""Prepared statements of one connection."""
MAX_CHARACTERS = 1 << 20
"""Of the texts of those statements."""
MAX_TEXT = 1 << 16
"""Characters of the longest text that stays prepared."""


class PreparedStatement(NamedTuple):
    """A prepared statement and parts of the messages that run it."""

    name: bytes
    head: bytes
    """Start of its Bind message."""
    bare: bytes
    """Bind and Execute without parameters."""


def _prepared(name: bytes) -> PreparedStatement:
    head = frontend_messages.bind_head(name)
    return PreparedStatement(name, head, frontend_messages.run(head, ()))


_UNNAMED = _prepared(b"")


class PreparedStatements:
    """The prepared statements of one connection by their text, at most `limit` of them (0: every statement is unnamed)."""

    def __init__(self, limit: int = MAX_PREPARED) -> None:
        self.columns: dict[str, int] = {}
        """Number of result columns of the statements that were described."""
        self._limit = limit
        self._by_text: dict[str, PreparedStatement] = {}
        self._parsing: list[str] = []
        """Texts whose Parse was sent and is not confirmed."""
        self._due_closes: list[bytes] = []
        self._name_count = 0
        self._characters = 0
        self._used_now = 0
        """How many texts the exchange uses that is being made: they are the last ones, and are not closed before it."""

    def __len__(self) -> int:
        return len(self._by_text)

    @property
    def is_settled(self) -> bool:
        """Whether no Parse is unconfirmed and no Close is due."""
        return not self._parsing and not self._due_closes

    def is_prepared(self, text: str, *, columns: bool) -> bool:
        """Return whether a statement is prepared, and with `columns` whether its number of result columns is known."""
        return text in self._by_text and (not columns or text in self.columns)

    def prepare(self, text: str, out: list[bytes]) -> PreparedStatement:
        """Return the prepared statement for a text; if it is new, append its Parse to the messages of the exchange."""
        if self._limit == 0 or len(text) > MAX_TEXT:
            out.append(frontend_messages.parse(b"", text))
            self._parsing.append(text)
            return _UNNAMED
        self._used_now += 1
        prepared = self._by_text.pop(text, None)
        if prepared is None:
            prepared = _prepared(b"headwater_%d" % self._name_count)
            out.append(frontend_messages.parse(prepared.name, text))
            self._name_count += 1
            self._parsing.append(text)
            self._characters += len(text)
            if len(self._by_text) >= self._limit:
                self._close(next(iter(self._by_text)))
            while self._characters > MAX_CHARACTERS and len(self._by_text) >= self._used_now:
                self._close(next(iter(self._by_text)))
        self._by_text[text] = prepared  # popped and inserted again: the first key is the least recently used
        return prepared

    def take_due_closes(self) -> list[bytes]:
        """Return the Close messages that are due, and forget them; they must come first in an exchange."""
        due, self._due_closes = self._due_closes, []
        return due

    def store_column_count(self, text: str, count: int) -> None:
        """Store the number of result columns of a statement."""
        if len(self.columns) >= 2 * MAX_PREPARED:
            del self.columns[next(iter(self.columns))]
        self.columns[text] = count

    def confirm_parsed(self, parsed: int) -> None:
        """Drop the statements whose Parse failed: of those sent since the last call, `parsed` succeeded, in order."""
        self._used_now = 0
        if not self._parsing:
            return
        for text in self._parsing[parsed:]:
            if self._by_text.pop(text, None) is not None:
                self._characters -= len(text)
        for text in self._parsing:
            if len(text) > MAX_TEXT:
                self.columns.pop(text, None)
        self._parsing.clear()

    def clear(self) -> None:
        """Close all statements, because the server's state does not match ours."""
        for text in list(self._by_text):
            self._close(text)
        self.columns.clear()

    def _close(self, text: str) -> None:
        self._due_closes.append(frontend_messages.close(self._by_text.pop(text).name))
        self._characters -= len(text)
        self.columns.pop(text, None)
