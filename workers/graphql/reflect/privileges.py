"""Compute the privileges of a role from access lists (ACLs). Pure.

A role has the privileges granted to itself, to PUBLIC, and to every role whose privileges it inherits; a superuser has
all. The predefined roles `pg_read_all_data` and `pg_write_all_data` add read or write privileges on all relations, as in
Postgres. Computing this here, and not with `has_table_privilege`, lets one read of the catalogs serve all roles.
Source: PostgreSQL, "Privileges".
"""

import re
from collections.abc import Iterable

from workers.graphql.reflect.rows import ReflectedRoles

SELECT, INSERT, UPDATE, DELETE, EXECUTE, USAGE = "r", "a", "w", "d", "X", "U"

_ENTRY = re.compile(r'("(?:[^"]|"")*"|[^="]*)=([a-zA-Z*]*)/')
_NOTHING: frozenset[str] = frozenset()
_EVERYTHING = frozenset("rawdDxtmXUC")
_PUBLIC = ""


class RolePrivileges:
    """The privileges of one role. A privilege is represented by its abbreviation in access lists (`r` is select)."""

    def __init__(self, roles: ReflectedRoles, role: str) -> None:
        self._roles = _inherited_roles(roles.memberships, role)
        self._is_superuser = role in roles.superusers
        self._cache: dict[str, frozenset[str]] = {}
        self._data = frozenset(
            (SELECT if "pg_read_all_data" in self._roles else "")
            + (INSERT + UPDATE + DELETE if "pg_write_all_data" in self._roles else "")
        )

    def granted(self, acl: str | None) -> frozenset[str]:
        """Return the privileges that an access list grants to the role; a missing list grants nothing."""
        if self._is_superuser:
            return _EVERYTHING
        if not acl:
            return _NOTHING
        letters = self._cache.get(acl)
        if letters is None:
            letters = self._cache[acl] = frozenset(
                letter for grantee, granted in _entries(acl) if grantee in self._roles for letter in granted
            )
        return letters

    def on_relation(self, acl: str | None) -> frozenset[str]:
        """Return the role's privileges on a relation with an access list."""
        return self.granted(acl) | self._data

    def may_enter(self, acl: str) -> bool:
        """Return whether the role has USAGE on a schema."""
        return bool(self._data) or USAGE in self.granted(acl)

    def may_use(self, acl: str | None) -> bool:
        """Return whether the role has USAGE on a type; without an access list, every role has."""
        return acl is None or USAGE in self.granted(acl)

    def may_call(self, acl: str) -> bool:
        """Return whether the role has EXECUTE on a function."""
        return EXECUTE in self.granted(acl)


def _inherited_roles(memberships: Iterable[tuple[str, str]], role: str) -> frozenset[str]:
    granted: dict[str, list[str]] = {}
    for member, granted_role in memberships:
        granted.setdefault(member, []).append(granted_role)
    roles, pending = {_PUBLIC}, [role]
    while pending:
        current = pending.pop()
        if current not in roles:
            roles.add(current)
            pending.extend(granted.get(current, ()))
    return frozenset(roles)


def _entries(acl: str) -> Iterable[tuple[str, str]]:
    for line in acl.split("\n"):
        entry = _ENTRY.match(line)
        if entry is not None:
            name = entry[1]
            yield name[1:-1].replace('""', '"') if name.startswith('"') else name, entry[2]
