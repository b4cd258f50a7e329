"""The letters that were caught, newest first, bounded by their number and their bytes. Pure: no I/O, no clock."""

from collections.abc import Iterable

from services.catcher.letter import Letter
from services.catcher.search import Query

LATEST = "latest"
"""Stands for the id of the newest letter."""


class CaughtMail:
    """The letters in memory. A letter beyond the bounds drives out the oldest ones."""

    def __init__(self, most_letters: int = 500, most_bytes: int = 64 * 1024 * 1024) -> None:
        self._letters: dict[str, Letter] = {}
        self._read: set[str] = set()
        self._most_letters = most_letters
        self._most_bytes = most_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._letters)

    @property
    def unread(self) -> int:
        """Count the letters that nobody opened."""
        return len(self._letters) - len(self._read)

    @property
    def size_bytes(self) -> int:
        """Give the bytes of all letters in memory."""
        return self._bytes

    def add(self, letter: Letter) -> None:
        """Take a letter in."""
        self._letters[letter.id] = letter
        self._bytes += letter.weight_bytes
        while len(self._letters) > self._most_letters or (
            self._bytes > self._most_bytes and len(self._letters) > 1
        ):
            self._remove(next(iter(self._letters)))

    def get(self, id: str) -> Letter | None:
        """Give a letter by its id, or the newest one for `latest`."""
        if id == LATEST:
            return next(iter(self.newest_first()), None)
        return self._letters.get(id)

    def newest_first(self, query: Query | None = None) -> list[Letter]:
        """Give the letters that a query finds; all without one."""
        letters = reversed(self._letters.values())
        return [letter for letter in letters if query is None or query.finds(letter, self.is_read(letter.id))]

    def is_read(self, id: str) -> bool:
        """Tell whether somebody opened the letter."""
        return id in self._read

    def mark(self, ids: Iterable[str], *, is_read: bool) -> None:
        """Note letters as opened, or as new again."""
        for id in ids:
            if id in self._letters:
                (self._read.add if is_read else self._read.discard)(id)

    def remove(self, ids: Iterable[str]) -> None:
        """Throw letters away; ids that are not known mean nothing."""
        for id in ids:
            if id in self._letters:
                self._remove(id)

    def clear(self) -> None:
        """Throw all letters away."""
        self._letters.clear()
        self._read.clear()
        self._bytes = 0

    def _remove(self, id: str) -> None:
        self._bytes -= self._letters.pop(id).weight_bytes
        self._read.discard(id)
