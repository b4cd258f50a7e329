"""Sort keys for names in generated files: dictionary order, `_` before digits before characters, case last (pure)."""

import unicodedata
from typing import Any, Protocol

_SIGNS = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"


class HasName(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """The name."""


def sort_key(name: str) -> tuple[Any, ...]:
    """Return the sort key of a name: characters without case and accents, then with accents, then case, then the name."""
    characters = unicodedata.normalize("NFKD", name)
    plain = [character for character in characters if not unicodedata.combining(character)]
    return (
        [_place(character.casefold()) for character in plain],
        characters.casefold(),
        [character.isupper() for character in plain],
        name,
    )


def name_key(value: HasName) -> tuple[Any, ...]:
    """Return the sort key of an object with a name."""
    return sort_key(value.name)


def _place(character: str) -> tuple[int, int, str]:
    at = _SIGNS.find(character)
    if at >= 0:
        return 0, at, character
    return (1 if character.isdigit() else 2), 0, character
