"""What a role may do, out of access lists. Pure.

A role holds what is granted to it, to PUBLIC, and to every role whose privileges it inherits; a superuser holds all. The
predefined roles `pg_read_all_data` and `pg_write_all_data` count as Postgres counts them. Source: Postgres, "Privileges".
"""

import re
from collections.abc import Iterable

from workers.graphql.reflect.rows import RolesRow

SELECT, INSERT, UPDATE, DELETE, EXECUTE, USAGE = "r", "a", "w", "d", "X", "U"

_ENTRY = re.compile(r'("(?:[^"]|"")*"|[^="]*)=([a-zA-Z*]*)/')
_NOTHING: frozenset[str] = frozenset()
_EVERYTHING = frozenset("rawdDxtmXUC")
_PUBLIC = ""


class Rights:
    """The privileges of one role, as letters of access lists."""

    def __init__(self, roles: RolesRow, role: str) -> None:
        self._roles = _closure(roles.memberships, role)
        self._is_superuser = role in roles.superusers
        self._known: dict[str, frozenset[str]] = {}
        self._data = frozenset(
            (SELECT if "pg_read_all_data" in self._roles else "")
            + (INSERT + UPDATE + DELETE if "pg_write_all_data" in self._roles else "")
        )

    def letters(self, acl: str | None) -> frozenset[str]:
        """Give what an access list grants the role; a missing list grants nothing."""
        if self._is_superuser:
            return _EVERYTHING
        if not acl:
            return _NOTHING
        found = self._known.get(acl)
        if found is None:
            found = self._known[acl] = frozenset(
                letter for grantee, letters in _entries(acl) if grantee in self._roles for letter in letters
            )
        return found

    def on_data(self, acl: str | None) -> frozenset[str]:
        """Give what the role may do with a relation."""
        return self.letters(acl) | self._data

    def may_enter(self, acl: str) -> bool:
        """Tell whether the role has USAGE on a schema."""
        return bool(self._data) or USAGE in self.letters(acl)

    def may_use(self, acl: str | None) -> bool:
        """Tell whether the role has USAGE on a type; without a list, everyone has."""
        return acl is None or USAGE in self.letters(acl)

    def may_call(self, acl: str) -> bool:
        """Tell whether the role has EXECUTE on a function."""
        return EXECUTE in self.letters(acl)


def _closure(memberships: Iterable[tuple[str, str]], role: str) -> frozenset[str]:
    granted: dict[str, list[str]] = {}
    for member, other in memberships:
        granted.setdefault(member, []).append(other)
    found, waiting = {_PUBLIC}, [role]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(granted.get(one, ()))
    return frozenset(found)


def _entries(acl: str) -> Iterable[tuple[str, str]]:
    for line in acl.split("\n"):
        entry = _ENTRY.match(line)
        if entry is not None:
            name = entry[1]
            yield name[1:-1].replace('""', '"') if name.startswith('"') else name, entry[2]
