"""Rules that mask columns of a branch, as the settings have them: `"public.users.email" = "email"`. Pure."""

import re
from collections.abc import Mapping

from msgspec import Struct

KINDS = ("null", "hash", "email", "name", "text", "number(LEAST, MOST)")
_PLAIN = frozenset({"null", "hash", "email", "name", "text"})
_NUMBER = re.compile(r"number\(\s*(-?[0-9]{1,18})\s*,\s*(-?[0-9]{1,18})\s*\)")
_MOST_RULES = 1000


class InvalidMask(ValueError):
    """A rule is wrong; the message says which and what is expected."""


class MaskRule(Struct, frozen=True):
    """How one column is masked. `least` and `most` are the bounds of a number, both included."""

    schema: str
    table: str
    column: str
    kind: str
    least: int = 0
    most: int = 0

    @property
    def name(self) -> str:
        """Return the column as the settings name it."""
        return f"{self.schema}.{self.table}.{self.column}"


def read_rules(rules: Mapping[str, str]) -> list[MaskRule]:
    """Return the rules of `[branches.mask]`. Raises: InvalidMask."""
    if len(rules) > _MOST_RULES:
        raise InvalidMask(f"[branches.mask] has more than {_MOST_RULES} rules; write branches/mask.sql")
    return [_rule(name, kind.strip()) for name, kind in rules.items()]


def _rule(name: str, kind: str) -> MaskRule:
    parts = name.split(".")
    if len(parts) != 3 or not all(parts):
        raise InvalidMask(f'[branches.mask] "{name}": a column is named "schema.table.column"')
    schema, table, column = parts
    if kind in _PLAIN:
        return MaskRule(schema, table, column, kind)
    match = _NUMBER.fullmatch(kind)
    if match is None:
        raise InvalidMask(f'[branches.mask] "{name}" = "{kind}": kinds are {", ".join(KINDS)}')
    least, most = int(match[1]), int(match[2])
    if least > most:
        raise InvalidMask(f'[branches.mask] "{name}" = "{kind}": the first bound is above the second')
    return MaskRule(schema, table, column, "number", least, most)
