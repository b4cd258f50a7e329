"""Keys of `config.toml` that a process does not take from it (pure): a branch takes no key, no sender and no address of its parent.

`HEADWATER_CLEARED_SETTINGS` has the patterns, comma separated: dotted paths in which `*` stands for a part of one name, and a last `**`
for everything below. The environment still sets such a key.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

CLEARED_SETTINGS = "HEADWATER_CLEARED_SETTINGS"


class ClearedKeys:
    """The patterns, compiled."""

    def __init__(self, patterns: Iterable[str]) -> None:
        texts = (re.escape(text).replace(r"\*\*", ".+").replace(r"\*", "[^.]*") for text in patterns)
        self._expression = re.compile("|".join(texts) or r"(?!)", re.ASCII)

    def has(self, path: str) -> bool:
        """Return whether a dotted path matches one of the patterns."""
        return self._expression.fullmatch(path) is not None

    def without(self, tree: Mapping[str, Any], path: str = "") -> dict[str, Any]:
        """Return the tables of a file without these keys."""
        rest: dict[str, Any] = {}
        for name, value in tree.items():
            where = f"{path}{name}"
            if self.has(where):
                continue
            rest[name] = self.without(value, f"{where}.") if isinstance(value, dict) else value
        return rest


@cache
def _compiled(text: str) -> ClearedKeys:
    return ClearedKeys(part for part in text.split(",") if part)


def cleared_keys(environment: Mapping[str, str]) -> ClearedKeys:
    """Return the keys that an environment clears."""
    return _compiled(environment.get(CLEARED_SETTINGS, ""))
