"""POST, PATCH and DELETE of each kind: read the object, build the statements (`changes/`), run them, read it again.

The statements of a change run in one transaction as role `postgres`. What the database rejects is answered 400 with its message.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from workers.database.transactions.model import Statement
from workers.management.spellings.schema_metadata.body import Body, Form, convert
from workers.management.spellings.schema_metadata.changes import (
    columns,
    extensions,
    functions,
    policies,
    publications,
    roles,
    schemas,
    tables,
    triggers,
)
from workers.management.spellings.schema_metadata.errors import not_there
from workers.management.spellings.schema_metadata.lists import retrieve
from workers.management.spellings.schema_metadata.reads import (
    CatalogSession,
    Filter,
    by_id,
    by_name,
    decoded,
)
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.spellings.schema_metadata", "writes.sql")
Create = Callable[[CatalogSession, dict[str, Any]], Awaitable[bytes | None]]
Change = Callable[[CatalogSession, Body, Body], Awaitable[list[Statement]]]


@dataclass(slots=True)
class ObjectChange:
    """What a change did, for the audit row: the object before and after it, as JSON. `result` is the answer."""

    before: bytes | None = None
    after: bytes | None = None

    @property
    def result(self) -> bytes:
        """The object after the change, or the one that was dropped."""
        return self.after or self.before or b"null"


@dataclass(frozen=True, slots=True)
class WritableKind:
    """How objects of a kind are written. `create` returns the new object."""

    new: Form
    changed: Form
    create: Create
    change: Change
    drop: Callable[[Body, bool], list[Statement]]
    secrets: frozenset[str] = frozenset()
    """Members of bodies that no audit row has."""


async def create(session: CatalogSession, path: str, body: object, recorded: ObjectChange) -> None:
    """Create an object. Raises: MetadataError, DatabaseError."""
    kind = WRITABLE[path]
    sent = convert(body, kind.new)
    recorded.after = await kind.create(session, sent)
    if recorded.after is None:
        raise not_there("the new object")


async def change(session: CatalogSession, path: str, id: str, body: object, recorded: ObjectChange) -> None:
    """Change an object. Raises: MetadataError, DatabaseError."""
    kind = WRITABLE[path]
    sent = convert(body, kind.changed)
    recorded.before = await retrieve(session, path, id)
    old = decoded(recorded.before)
    statements = await kind.change(session, old, sent)
    if statements:
        await session.run(*statements)
    if path == "publications":  # it may have been created again
        recorded.after = await session.first("publications", by_name(sent.get("name", old["name"])))
    else:
        recorded.after = await retrieve(session, path, id)


async def remove(session: CatalogSession, path: str, id: str, cascade: bool, recorded: ObjectChange) -> None:
    """Drop an object. Raises: MetadataError, DatabaseError."""
    recorded.before = await retrieve(session, path, id)
    await session.run(*WRITABLE[path].drop(decoded(recorded.before), cascade))


async def _create_column(session: CatalogSession, body: dict[str, Any]) -> bytes | None:
    table = decoded(await retrieve(session, "tables", str(body["table_id"])))
    await session.run(*columns.create(table, body))
    filter = msgspec.structs.replace(by_id(str(table["id"])), name=body["name"].encode())
    return await session.first("columns", filter)


async def _create_function(session: CatalogSession, body: dict[str, Any]) -> bytes | None:
    """Create a function and return it: the one that its transaction created, as its signature may have been written in many ways."""
    schema, name = body.get("schema", "public"), body["name"]
    new = Statement(_SQL["new_function"], [schema.encode(), name.encode()])
    *_, rows = await session.run(*functions.create(body), new)
    return await session.first("functions", by_id((rows[0][0] or b"0").decode())) if rows else None


async def _change_table(session: CatalogSession, old: Body, body: Body) -> list[Statement]:
    [keys] = await session.run(_named("primary_key", str(old["id"])))
    return tables.change(old, body, _first(keys))


async def _change_column(session: CatalogSession, old: Body, body: Body) -> list[Statement]:
    place = (str(old["table_id"]), str(old["ordinal_position"]))
    unique, checks = await session.run(_named("unique_keys", *place), _named("checks", *place))
    names = [(row[0] or b"").decode() for row in unique]
    return columns.change(old, body, names, _first(checks))


def _created(
    statement: str, build: Callable[[Body], list[Statement]], find: Callable[[Body], Filter]
) -> Create:
    """Return a function that runs the statements of a body and returns the object that `find` names."""

    async def create(session: CatalogSession, body: dict[str, Any]) -> bytes | None:
        await session.run(*build(body))
        return await session.first(statement, find(body), has_columns=statement == "tables")

    return create


def _pure(build: Callable[[Body, Body], list[Statement]]) -> Change:
    async def change(session: CatalogSession, old: Body, body: Body) -> list[Statement]:
        del session
        return build(old, body)

    return change


def _named(name: str, *values: str) -> Statement:
    return Statement(_SQL[name], [value.encode() for value in values])


def _first(rows: Sequence[Sequence[bytes | None]]) -> str | None:
    return (rows[0][0] or b"").decode() if rows else None


def _drop(drop: Callable[[Body], list[Statement]]) -> Callable[[Body, bool], list[Statement]]:
    return lambda old, cascade: drop(old)


def _named_alone(body: Body) -> Filter:
    return by_name(body["name"])


def _in_schema(body: Body) -> Filter:
    return by_name(body["name"], schema=str(body.get("schema", "public")))


def _on_table(body: Body) -> Filter:
    return by_name(body["name"], schema=str(body.get("schema", "public")), table=body["table"])


WRITABLE = {
    "schemas": WritableKind(
        schemas.NEW, schemas.CHANGED, _created("schemas", schemas.create, _named_alone), _pure(schemas.change),
        lambda old, cascade: schemas.drop(old, cascade=cascade),
    ),
    "tables": WritableKind(
        tables.NEW, tables.CHANGED, _created("tables", tables.create, _in_schema), _change_table,
        lambda old, cascade: tables.drop(old, cascade=cascade),
    ),
    "columns": WritableKind(
        columns.NEW, columns.CHANGED, _create_column, _change_column,
        lambda old, cascade: columns.drop(old, cascade=cascade),
    ),
    "functions": WritableKind(
        functions.NEW, functions.CHANGED, _create_function, _pure(functions.change),
        lambda old, cascade: functions.drop(old, cascade=cascade),
    ),
    "triggers": WritableKind(
        triggers.NEW, triggers.CHANGED, _created("triggers", triggers.create, _on_table), _pure(triggers.change),
        lambda old, cascade: triggers.drop(old, cascade=cascade),
    ),
    "policies": WritableKind(
        policies.NEW, policies.CHANGED, _created("policies", policies.create, _on_table), _pure(policies.change),
        _drop(policies.drop),
    ),
    "publications": WritableKind(
        publications.NEW, publications.CHANGED, _created("publications", publications.create, _named_alone),
        _pure(publications.change), _drop(publications.drop),
    ),
    "roles": WritableKind(
        roles.NEW, roles.CHANGED, _created("roles", roles.create, _named_alone), _pure(roles.change),
        _drop(roles.drop), roles.SECRETS,
    ),
    "extensions": WritableKind(
        extensions.NEW, extensions.CHANGED, _created("extensions", extensions.create, _named_alone),
        _pure(lambda old, body: extensions.change(old["name"], body)),
        lambda old, cascade: extensions.drop(old["name"], cascade=cascade),
    ),
}  # fmt: skip
"""The kinds that can be written, by their paths."""
