"""Roles that limit administrators by area and table. Pure.

An area is the part of an operation's name before the dot: `rows` of `rows.update`. In an area a limited administrator has the rights of a
reader ("read"), of a developer ("change"), or none; an area that the role does not name has none, so that areas of later versions are
closed. Operations on one's own account are not limited. In the area `rows` the level of a table that the role names replaces that of the
area. Whoever may run SQL or code reaches every table, so a role that names tables has `LEVELS_BESIDE_TABLES` at most in such areas, and of
the schemas of the server and the platform only the tables that it names: they hold values of other tables (pg_stats), and a row there can be
SQL that runs (cron.job). A user of the project whose tokens have the service role reads all rows and files: limited administrators make none,
change none, and act as none.
"""

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.management.interface.rights import Right


class AccessLevel(StrEnum):
    """What a role may do in an area, or with a table."""

    NONE = "none"
    READ = "read"
    CHANGE = "change"

    def allows(self, other: "AccessLevel") -> bool:
        """Return whether this level includes another one."""
        return _ORDER.index(self) >= _ORDER.index(other)


class TableLevel(Struct, frozen=True, forbid_unknown_fields=True):
    """What a role may do with the rows of one table or view."""

    table: str
    level: AccessLevel
    schema: str = "public"


class RoleLimits(Struct, frozen=True):
    """A role: its levels by area, and by table in the area `rows`."""

    name: str
    areas: dict[str, AccessLevel] = {}
    tables: list[TableLevel] = []


_ORDER = (AccessLevel.NONE, AccessLevel.READ, AccessLevel.CHANGE)
_RIGHT = {AccessLevel.READ: Right.READER, AccessLevel.CHANGE: Right.DEVELOPER}
OWN_AREAS = frozenset({"account", "factors", "tokens", "connections", "docs"})
"""Areas of one's own account, tokens and programs, which the limits of their administrator reach too, and the documentation."""
ROWS = "rows"
LEVELS_BESIDE_TABLES: dict[str, AccessLevel] = {
    **dict.fromkeys(
        ("sql", "history", "policies", "jobs", "queues", "durable_jobs", "webhooks", "event_webhooks"),
        AccessLevel.NONE,
    ),
    **dict.fromkeys(("statistics", "logs", "functions"), AccessLevel.NONE),
    **dict.fromkeys(
        ("migrations", "schema", "backups", "branches", "settings", "project", "advisors"), AccessLevel.READ
    ),  # a comparison of access names rows by their keys
}
"""The highest level of areas whose operations read any row or run code."""
_SCHEMAS_BESIDE_TABLES = frozenset((*PLATFORM_SCHEMAS, "information_schema"))
ROLES_OF_USERS = ("", "anon", "authenticated")
"""Roles of users that limited administrators make, change and act as."""


def level_of(limits: RoleLimits, operation: str, arguments: Any) -> AccessLevel:
    """Return what a role allows for an operation with these arguments."""
    area = operation.partition(".")[0]
    level = limits.areas.get(area, AccessLevel.NONE)
    if area != ROWS or not limits.tables:
        return level
    schema, table = getattr(arguments, "schema", None), getattr(arguments, "table", None)
    if not isinstance(schema, str) or not isinstance(table, str):
        return AccessLevel.NONE
    levels = [named.level for named in limits.tables if (named.schema, named.table) == (schema, table)]
    if levels:
        return levels[0]
    is_platforms = schema in _SCHEMAS_BESIDE_TABLES or schema.startswith("pg_")
    return AccessLevel.NONE if is_platforms else level


def limited_rights(rights: Right, limits: RoleLimits, operation: str, arguments: Any) -> Right | None:
    """Return the rights that are left for an operation, or None."""
    if operation.partition(".")[0] in OWN_AREAS:
        return rights
    allowed = _RIGHT.get(level_of(limits, operation, arguments))
    return allowed if allowed is None or rights.includes(allowed) else rights


def rejected_argument(operation: str, arguments: Any) -> str:
    """Return why a limited administrator may not send these arguments, though the level would allow the operation; empty if it may."""
    if operation not in ("users.create", "users.change"):
        return ""
    role = getattr(arguments, "role", "")
    if not isinstance(role, str) or role in ROLES_OF_USERS:
        return ""
    return f"`role` may be authenticated or anon: tokens of {role[:63]!r} could read beside the limits of your role"


def without_other_tables(limits: RoleLimits, operation: str, arguments: Any) -> Any:
    """Return the arguments without what reads other tables: labels of rows that foreign keys refer to."""
    if operation == "rows.list" and limits.tables:
        return msgspec.structs.replace(arguments, labels=[])
    return arguments


def levels_fault(limits: RoleLimits) -> str:
    """Return why the levels of a role do not limit what they seem to; empty if they do."""
    if not limits.tables:
        return ""
    for area, most in LEVELS_BESIDE_TABLES.items():
        if not most.allows(limits.areas.get(area, AccessLevel.NONE)):
            return f"A role that names tables may have `{most}` in `{area}` at most: it reaches the rows of all tables"
    return ""
