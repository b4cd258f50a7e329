"""What the catalog of one state of a database says about access."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import asyncpg
import msgspec
from msgspec import Struct

from workers.sql import compose
from workers.sql.files import read_statements

_SQL = read_statements("workers.project.access", "catalog.sql")
_SHOWN_KEYS = {"storage.objects": ["bucket_id", "name"]}
"""Keys by which people know rows, where the primary key is a random number."""
_EMPTY_PATH = "set local search_path = ''"
T = TypeVar("T")


class CallerRole(Struct, frozen=True):
    """A role that requests may act as."""

    name: str
    bypasses: bool
    member_of: list[str]
    settings: str


class RoleRights(Struct, frozen=True):
    """What a role was granted on a relation. `applies`: row security does; `columns` are `name command`."""

    applies: bool
    select: bool
    insert: bool
    update: bool
    delete: bool
    columns: list[str]


class Column(Struct, frozen=True):
    """A column; `is_domain`: its type may forbid null even in a value that is not stored."""

    name: str
    type: str
    is_required: bool
    is_domain: bool


class Policy(Struct, frozen=True):
    """A policy: its expressions, and what they read."""

    table: int
    name: str
    command: str
    is_permissive: bool
    roles: list[str]
    using: str | None
    check: str | None
    columns: list[str]
    relations: list[int]
    functions: list[str]
    schemas: list[str]


class AccessRelation(Struct):
    """A table or view. `touched` counts rows that this transaction wrote; `file` changes when the table is rewritten.

    `is_readable`: by role postgres, whole.
    """

    oid: int
    schema: str
    name: str
    kind: str
    owner: int
    file: int
    is_enabled: bool
    is_forced: bool
    is_invoker: bool
    definition: str
    touched: int
    is_readable: bool
    has_children: bool
    columns: list[Column]
    key: list[str]
    rights: dict[str, RoleRights]
    policies: list[Policy] = []

    @property
    def title(self) -> str:
        """Its schema and name."""
        return f"{self.schema}.{self.name}"

    @property
    def is_view(self) -> bool:
        """Whether it has a query of its own."""
        return self.kind in ("v", "m")


class Function(Struct, frozen=True):
    """A function. `roles` may execute it; `is_plain`: it returns rows without arguments and does not write."""

    schema: str
    name: str
    arguments: str
    is_definer: bool
    owner: int
    returns_set: bool
    is_called: bool
    is_plain: bool
    definition: str
    roles: list[str]

    @property
    def title(self) -> str:
        """Its signature."""
        return f"{self.schema}.{self.name}({self.arguments})"


class AccessCatalog(Struct, frozen=True):
    """One state: roles by name, relations by schema and name, functions by signature."""

    roles: dict[str, CallerRole]
    relations: dict[str, AccessRelation]
    functions: dict[str, Function]


class User(Struct, frozen=True):
    """A user, and the claims of an access token."""

    id: str
    claims: dict[str, Any]


def request_path(schema: str, extra: Sequence[str]) -> str:
    """Return the search path of requests to a schema (pure)."""
    return ", ".join(compose.quoted(name) for name in dict.fromkeys((schema, *extra)))


async def read_catalog(connection: asyncpg.Connection, extra_path: Sequence[str]) -> AccessCatalog:
    """Return the state that a transaction sees; its search path is empty afterwards. Raises: the driver's errors."""
    await connection.execute(_EMPTY_PATH)
    roles = await _rows(connection, CallerRole, "roles")
    names = json.dumps([role.name for role in roles])
    relations = await _rows(connection, AccessRelation, "relations", names)
    functions = await _rows(connection, Function, "functions", names)
    by_oid = {relation.oid: relation for relation in relations}
    for relation in relations:
        relation.key = _SHOWN_KEYS.get(relation.title, relation.key)
    for schema in sorted({relation.schema for relation in relations if relation.kind in "rp"}):
        await connection.execute(
            "select pg_catalog.set_config('search_path', $1, true)", request_path(schema, extra_path)
        )
        for policy in await _rows(connection, Policy, "expressions", schema, names):
            table = by_oid[policy.table]
            table.policies = [*table.policies, policy]
    await connection.execute(_EMPTY_PATH)
    return AccessCatalog(
        {role.name: role for role in roles},
        {relation.title: relation for relation in relations},
        {function.title: function for function in functions},
    )


async def read_users(connection: asyncpg.Connection, named: Sequence[str], sample: int) -> list[User]:
    """Return the users that are named, or a sample of so many. Raises: the driver's errors."""
    await connection.execute(_EMPTY_PATH)
    if named:
        return await _rows(connection, User, "users", len(named), json.dumps(list(named)))
    return await _rows(connection, User, "users", sample, None)


async def count_users(connection: asyncpg.Connection) -> int:
    """Return how many users there are. Raises: the driver's errors."""
    return int(await connection.fetchval(_SQL["user_count"]))


async def _rows(connection: asyncpg.Connection, kind: type[T], name: str, *values: object) -> list[T]:
    return [msgspec.json.decode(row[0], type=kind) for row in await connection.fetch(_SQL[name], *values)]
