"""How the user wrote a key: as an environment name, ours or an official server's, or as a key of the file."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from schemas.settings.environment import own_name
from schemas.settings.gotrue_names import EXTRA_NAMES, GOTRUE_NAMES, GOTRUE_PREFIX
from schemas.settings.storage_names import STORAGE_NAMES

_KEY = re.compile(r"\{([a-z][\w]*(?:\.\w+)+)\}", re.ASCII)
_OFFICIAL = {alias.path: name for name, alias in reversed(GOTRUE_NAMES.items())} | {
    alias.path: name for name, aliases in reversed(STORAGE_NAMES.items()) for alias in aliases
}


@dataclass(frozen=True, slots=True)
class KeySpelling:
    """The names under which the keys of one tree were set."""

    source: str
    """The file."""
    written: Collection[str] = frozenset()
    """Dotted paths of the keys and tables in the file."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment names, by the dotted path of the key they set."""
    stored: Collection[str] = frozenset()
    """Dotted paths of the keys that are stored in the database (`overlay.py`): no file is named for them."""

    def sentence(self, text: str) -> str:
        """Replace the keys in braces of a sentence with the names that the user wrote.

        A key that is not set is written like the first one that is. A key of the file follows the file's name.
        """
        keys = _KEY.findall(text)
        like = next((self.variables.get(key, "") for key in keys if self._is_set(key)), "")
        named = _KEY.sub(lambda key: self._name(key[1], like), text)
        is_elsewhere = keys and (
            self._name(keys[0], like) != keys[0] or not set(keys).isdisjoint(self.stored)
        )
        return named if is_elsewhere else f"{self.source}: {named}"

    def _is_set(self, key: str) -> bool:
        return key in self.variables or key in self.written

    def _name(self, key: str, like: str) -> str:
        if self._is_set(key):
            return self.variables.get(key, key)
        path = tuple(key.split("."))
        if like.startswith(GOTRUE_PREFIX) or like in EXTRA_NAMES or like in STORAGE_NAMES:
            return _OFFICIAL.get(path, key)
        return own_name(path) if like else key
