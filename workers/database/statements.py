"""The prepared statements of one connection: which the server knows, by their text, and what Parse and Close are due. Pure.

In: the texts of an exchange, and afterwards how many of its Parse messages succeeded. Out: messages.
"""

from typing import NamedTuple

from workers.database import wire

STATEMENTS_KEPT = 300
"""Prepared statements of one connection."""


class Prepared(NamedTuple):
    """A statement the server knows, and the messages that run it."""

    name: bytes
    head: bytes
    """Beginning of its Bind message."""
    bare: bytes
    """Bind and Execute without parameters."""


def _prepared(name: bytes) -> Prepared:
    head = wire.bind_head(name)
    return Prepared(name, head, wire.run(head, ()))


_UNNAMED = _prepared(b"")


class Statements:
    """The prepared statements of one connection by their text; the least recently used makes room."""

    def __init__(self, kept: int = STATEMENTS_KEPT) -> None:
        self.columns: dict[str, int] = {}
        """Number of result columns of the statements that were described."""
        self._kept = kept
        self._known: dict[str, Prepared] = {}
        self._asked: list[str] = []
        self._closing: list[bytes] = []
        self._made = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def is_settled(self) -> bool:
        """Whether no Parse and no Close is due."""
        return not self._asked and not self._closing

    def knows(self, text: str, *, columns: bool) -> bool:
        """Tell whether the server knows a statement, and we its result columns if those are asked for."""
        return text in self._known and (not columns or text in self.columns)

    def find(self, text: str, out: list[bytes]) -> Prepared:
        """Give the prepared statement of a text; if it is new, its Parse is put to the messages of the exchange."""
        if self._kept == 0:
            out.append(wire.parse(b"", text))
            return _UNNAMED
        prepared = self._known.pop(text, None)
        if prepared is None:
            prepared = _prepared(b"headwater_%d" % self._made)
            out.append(wire.parse(prepared.name, text))
            self._made += 1
            self._asked.append(text)
            if len(self._known) >= self._kept:
                self._forget(next(iter(self._known)))
        self._known[text] = prepared
        return prepared

    def leave(self) -> list[bytes]:
        """Give the Close messages that are due; they stand first in an exchange, where no error can skip them."""
        due, self._closing = self._closing, []
        return due

    def learn_columns(self, text: str, count: int) -> None:
        """Keep the number of result columns of a statement."""
        if len(self.columns) >= 2 * STATEMENTS_KEPT:
            del self.columns[next(iter(self.columns))]
        self.columns[text] = count

    def settle(self, parsed: int) -> None:
        """Learn how many of the Parse messages since the last call the server carried out; 0 if none was sent."""
        for text in self._asked[parsed:]:
            self._known.pop(text, None)
        self._asked.clear()

    def clear(self) -> None:
        """Forget all, because the server's side is not what we think it is."""
        for text in list(self._known):
            self._forget(text)
        self.columns.clear()

    def _forget(self, text: str) -> None:
        self._closing.append(wire.close(self._known.pop(text).name))
        self.columns.pop(text, None)
