"""The order of names in generated files: as a dictionary has them, `_` before digits before letters, case last (pure)."""

import unicodedata
from typing import Any, Protocol

_SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"


class Named(Protocol):
    """A thing with a name."""

    @property
    def name(self) -> str:
        """Give it."""


def by_name(name: str) -> tuple[Any, ...]:
    """Give what a name is sorted by: its letters without case and accents first, then those, then itself."""
    letters = unicodedata.normalize("NFKD", name)
    plain = [letter for letter in letters if not unicodedata.combining(letter)]
    return (
        [_place(each.casefold()) for each in plain],
        letters.casefold(),
        [each.isupper() for each in plain],
        name,
    )


def named(value: Named) -> tuple[Any, ...]:
    """Give what a thing with a name is sorted by."""
    return by_name(value.name)


def _place(letter: str) -> tuple[int, int, str]:
    at = _SIGNS.find(letter)
    if at >= 0:
        return 0, at, letter
    return (1 if letter.isdigit() else 2), 0, letter
