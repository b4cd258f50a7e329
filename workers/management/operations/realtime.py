"""Operations on realtime: which tables are published, how old rows are, a broadcast as the service role.

The inspector of the dashboard joins channels over the realtime socket itself, as any client does.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Struct

from workers.database.transactions.interactive import statement
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.typed_rows import composed, read_rows, rows_of_form, run_all
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit, check_text, cursor_of, read_cursor
from workers.management.interface.rights import Right
from workers.sql import compose
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "realtime.sql")
_IDENTITIES = {"d": "default", "n": "nothing", "f": "full", "i": "index"}
_LONGEST_TOPIC = 1024
_LONGEST_PAYLOAD = 256 * 1024
_SERVICE = [("role", "service_role"), ("request.jwt.claims", '{"role":"service_role"}')]


class RealtimeTablesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Tables of a schema by pages."""

    schema: Annotated[str, limits.text(63)] = "public"
    after: str | None = None
    limit: PageLimit = 100


class RealtimeTable(Struct, frozen=True):
    """A table and its row changes. `replica_identity`: default, full, index or nothing; `readable_by`: which of anon and authenticated.

    `warnings` say what subscribers will miss, or see although they should not.
    """

    schema: str
    name: str
    is_published: bool
    replica_identity: str
    has_key: bool
    has_row_security: bool
    select_policies: int
    readable_by: list[str]
    columns: list[str] | None
    filter: str | None
    warnings: list[str]


class RealtimeTablePage(Struct, frozen=True):
    """Tables by name; `next` is `after` of the next page, null at the end."""

    rows: list[RealtimeTable]
    next: str | None


class PublicationSwitch(Struct, frozen=True, forbid_unknown_fields=True):
    """A table, and whether its row changes are published. `is_preview`: only the SQL is returned."""

    schema: Annotated[str, limits.text(63)]
    table: Annotated[str, limits.text(63)]
    is_published: bool
    is_preview: bool = False


class ReplicaIdentityChange(Struct, frozen=True, forbid_unknown_fields=True):
    """A table, and whether old rows are published whole (`full`) or by their key. `is_preview`: only the SQL is returned."""

    schema: Annotated[str, limits.text(63)]
    table: Annotated[str, limits.text(63)]
    is_full: bool
    is_preview: bool = False


class RealtimeSql(Struct, frozen=True):
    """The SQL of a change, for a migration, and whether it was carried out."""

    sql: str
    is_done: bool


class BroadcastMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """A broadcast to a topic; only members of a private channel get a private one."""

    topic: Annotated[str, limits.text(_LONGEST_TOPIC)]
    event: Annotated[str, limits.text(_LONGEST_TOPIC)]
    payload: dict[str, Any]
    private: bool = False


class SentBroadcast(Struct, frozen=True):
    """The id of the message."""

    id: str


class _TableRow(Struct, frozen=True):
    schema: str
    name: str
    is_published: bool
    is_published_alone: bool
    replica_identity: str
    has_key: bool
    has_row_security: bool
    select_policies: int
    readable_by: list[str]
    columns: list[str] | None = None
    filter: str | None = None


async def list_tables(context: OperationContext, arguments: RealtimeTablesQuery) -> RealtimeTablePage:
    """Return a page of tables with their publication and warnings about it."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    schema = check_text("schema", arguments.schema, longest=63)
    after = check_text("after", read_cursor(arguments.after, str)) if arguments.after else ""
    rows = await read_rows(context, _TableRow, SQL["tables"], schema, after, limit)
    next = cursor_of(rows[-1].name) if len(rows) == limit else None
    return RealtimeTablePage([_table(row) for row in rows], next)


async def publish_table(context: OperationContext, arguments: PublicationSwitch) -> RealtimeSql:
    """Add a table to the publication of row changes, or take it out."""
    row = await _existing(context, arguments.schema, arguments.table)
    context.before = {"is_published": row.is_published}
    if not arguments.is_published and row.is_published and not row.is_published_alone:
        raise ManagementError(
            409,
            "published_with_others",
            "The publication holds this table with its whole schema, or with all tables",
            hint="Change the publication supabase_realtime with SQL.",
        )
    sql = compose.concat(
        compose.raw("alter publication supabase_realtime "),
        compose.raw("add table " if arguments.is_published else "drop table "),
        compose.qualified(row.schema, row.name),
    )
    if row.is_published == arguments.is_published:
        return RealtimeSql("", is_done=True)
    return await _carry_out(context, sql, is_preview=arguments.is_preview)


async def set_replica_identity(context: OperationContext, arguments: ReplicaIdentityChange) -> RealtimeSql:
    """Set whether old rows of a table are published whole, or by their key."""
    row = await _existing(context, arguments.schema, arguments.table)
    context.before = {"replica_identity": _IDENTITIES.get(row.replica_identity, "")}
    sql = compose.concat(
        compose.raw("alter table "),
        compose.qualified(row.schema, row.name),
        compose.raw(" replica identity "),
        compose.raw("full" if arguments.is_full else "default"),
    )
    return await _carry_out(context, sql, is_preview=arguments.is_preview)


async def broadcast(context: OperationContext, arguments: BroadcastMessage) -> SentBroadcast:
    """Send a broadcast as the service role: it is stored like those that SQL sends, and delivered at the commit."""
    check_text("topic", arguments.topic, longest=_LONGEST_TOPIC)
    check_text("event", arguments.event, longest=_LONGEST_TOPIC)
    payload = msgspec.json.encode(arguments.payload)
    if len(payload) > _LONGEST_PAYLOAD:
        raise invalid_arguments(f"`payload` must have at most {_LONGEST_PAYLOAD} bytes as JSON")
    [rows] = await context.database.view(
        [*_SERVICE, ("realtime.topic", arguments.topic)],
        statement(SQL["broadcast"], payload, arguments.event, arguments.topic, arguments.private),
        timeout_s=context.settings.statement_timeout_s,
    )
    with rows_of_form():
        return decode_rows(rows, SentBroadcast)[0]


def _table(row: _TableRow) -> RealtimeTable:
    return RealtimeTable(
        row.schema,
        row.name,
        row.is_published,
        _IDENTITIES.get(row.replica_identity, row.replica_identity),
        row.has_key,
        row.has_row_security,
        row.select_policies,
        row.readable_by,
        row.columns,
        row.filter,
        list(_warnings(row)) if row.is_published else [],
    )


def _warnings(row: _TableRow) -> list[str]:
    warnings = []
    if row.replica_identity == "n" or (row.replica_identity == "d" and not row.has_key):
        warnings.append(
            "It has no key to identify old rows: Postgres refuses its updates and deletes while it is published. "
            "Add a primary key, or set the replica identity to full."
        )
    if row.readable_by and not row.has_row_security:
        warnings.append(f"Row security is off: {' and '.join(row.readable_by)} get every change of it.")
    if row.readable_by and row.has_row_security and not row.select_policies:
        warnings.append("It has row security and no policy for select: no client gets its changes.")
    if not row.readable_by:
        warnings.append("Neither anon nor authenticated may select from it: no client gets its changes.")
    if row.has_row_security and row.replica_identity != "f":
        warnings.append(
            "Deletes and old rows carry the key alone, because row security cannot be checked on them."
        )
    return warnings


async def _existing(context: OperationContext, schema: str, table: str) -> _TableRow:
    """Return a table that can be published. Raises: ManagementError (404)."""
    check_text("schema", schema, longest=63)
    check_text("table", table, longest=63)
    rows = await read_rows(context, _TableRow, SQL["table"], schema, table)
    if not rows:
        raise not_found(f"table {schema}.{table} that can be published")
    return rows[0]


async def _carry_out(context: OperationContext, sql: compose.Sql, *, is_preview: bool) -> RealtimeSql:
    change = composed(sql)
    if not is_preview:
        await run_all(context, [change])
    return RealtimeSql(f"{change.text};", not is_preview)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("realtime.tables", "Which tables are published", RealtimeTablesQuery, RealtimeTablePage, reader, list_tables),
        Operation("realtime.publish_table", "Publish a table, or stop it", PublicationSwitch, RealtimeSql, developer, publish_table, changes=True),
        Operation("realtime.set_replica_identity", "Set how old rows are published", ReplicaIdentityChange, RealtimeSql, developer, set_replica_identity, changes=True),
        Operation("realtime.broadcast", "Send a broadcast as the service role", BroadcastMessage, SentBroadcast, developer, broadcast, changes=True, secrets=frozenset({"payload"})),
    ]  # fmt: skip
