"""Operations on the history of rows: tables that have one, versions of a row, undoing and erasing (docs/history.md).

Administrators see all versions, those of deleted rows too. What switches a history is the comment of the table, written as role postgres; the
pool `history` does the rest.
"""

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from schemas.platform_names import PLATFORM_SCHEMAS
from schemas.table_directives import (
    MOST_DAYS,
    CommentDirective,
    HistoryDirective,
    read_directive,
    with_directive,
)
from schemas.table_directives import InvalidDirective as InvalidCommentDirective
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import decode_first, statement
from workers.management.areas.history.copy_back import (
    MOST_COPIED,
    CopiedRow,
    RowsCopiedBack,
    copy_back,
    present_moment,
    read_moment,
    rows_at,
)
from workers.management.areas.history.reading import (
    HistoryOfTable,
    ask,
    history_of,
    key_text,
    read_position,
    version_of,
)
from workers.management.areas.history.undo import undo_version
from workers.management.areas.rows.edit import statement_of
from workers.management.areas.rows.table import DescribedTable, describe_table
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, SqlRejected, invalid_arguments
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.row_history.past import PastRow
from workers.row_history.stored import StoredGap, StoredHistory, StoredVersion
from workers.row_history.view import RowVersion, whole_version
from workers.sql.compose import concat, literal, raw
from workers.sql.operators import array_literal

_WAIT_S, _LOOK_S = 10.0, 0.1
_MOST_VERSIONS = 1000
_LONGEST_KEY = 4096


class HistoryTable(Struct, frozen=True):
    """A table with history. `is_on`: changes of now have versions; `size_bytes`: of its versions, with indexes."""

    id: int
    schema: str
    table: str
    key: list[str]
    days: int
    is_on: bool
    since: str
    size_bytes: int
    gaps: list[StoredGap]


class HistoryChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The history to switch: `days` null switches it off. `forgets`: what is stored is removed at once, not after its days."""

    table: str
    schema: str = "public"
    days: Annotated[int, limits.number(1, MOST_DAYS)] | None = None
    forgets: bool = False


class HistoryState(Struct, frozen=True):
    """Whether the table has a history now. `is_waiting`: it was asked for, and the pool `history` has not switched it yet."""

    is_on: bool
    is_waiting: bool


class RowOfHistory(Struct, frozen=True, forbid_unknown_fields=True):
    """A row by its key: column -> value. `before`: versions before this one; at most `limit`."""

    table: str
    key: dict[str, Any]
    schema: str = "public"
    before: str | None = None
    limit: Annotated[int, limits.number(1, _MOST_VERSIONS)] = 100


class VersionsOfRow(Struct, frozen=True):
    """Versions of a row, the newest first. `is_cut`: there are older ones. `gaps`: where versions of the table may be missing."""

    versions: list[RowVersion]
    gaps: list[StoredGap]
    days: int
    is_on: bool
    since: str
    is_cut: bool


class VersionToUndo(Struct, frozen=True, forbid_unknown_fields=True):
    """A version of a table by its position."""

    table: str
    version: str
    schema: str = "public"


class MomentOfTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table at a moment, a time with its zone such as `2026-11-22T10:15:00Z`; at most `limit` rows."""

    table: str
    moment: Annotated[str, limits.text(64)]
    schema: str = "public"
    limit: Annotated[int, limits.number(1, _MOST_VERSIONS)] = 100


class RowsAtMoment(Struct, frozen=True):
    """Rows that changed since a moment, as they were then; those that changed last first. Other rows are as they were. `is_cut`: there are more."""

    rows: list[PastRow]
    is_cut: bool


class RowsToCopy(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to make as they were at a moment. `keys`: texts of `history.rows_at`, or values by column; 100 at most.

    `only_tries`: say what is overwritten, and write nothing. Else `expected` is the `state` of that answer.
    """

    table: str
    moment: Annotated[str, limits.text(64)]
    keys: Annotated[list[str | dict[str, Any]], limits.entries(MOST_COPIED)]
    schema: str = "public"
    expected: Annotated[str, limits.text(64, least=0)] = ""
    only_tries: bool = False


class HistoryErasure(Struct, frozen=True, forbid_unknown_fields=True):
    """What to erase: one row by `key`; or a `person` (the `sub` of his tokens) with `column`, that of the table which names him."""

    table: str = ""
    schema: str = "public"
    key: dict[str, Any] | None = None
    column: str | None = None
    person: str | None = None


class ErasedHistory(Struct, frozen=True):
    """How many versions were removed, and in how many causes the person was named."""

    versions: int
    names: int


async def list_tables(context: OperationContext, arguments: NoArguments) -> list[HistoryTable]:
    """Return the tables with history, with gaps and what they take."""
    return decode_rows(await ask(context, "tables"), HistoryTable)


async def change(context: OperationContext, arguments: HistoryChange) -> HistoryState:
    """Switch the history of a table, or change its days, by the comment of the table. Raises: ManagementError."""
    if arguments.days is not None and not 1 <= arguments.days <= MOST_DAYS:
        raise invalid_arguments(f"`days` is 1 to {MOST_DAYS}")
    if arguments.forgets and arguments.days is not None:
        raise invalid_arguments("`forgets` goes with a history that is switched off")
    wanted = arguments.days is not None
    if wanted and not (context.configuration.realtime.enabled and context.configuration.history.enabled):
        raise ManagementError(409, "history_off", "History needs realtime.enabled and history.enabled")
    table = await describe_table(context, arguments.schema, arguments.table)
    if wanted:
        _check_kind(table)
        await _check_generated(context, table)
    comment = await _comment(context, arguments.schema, arguments.table)
    try:
        before = read_directive(comment)
    except InvalidCommentDirective:
        before = CommentDirective()
    history = HistoryDirective(arguments.days) if arguments.days is not None else None
    text = with_directive(comment, msgspec.structs.replace(before, history=history))
    commenting = concat(
        raw("comment on table "), table.sql, raw(" is "), literal(text) if text else raw("null")
    )
    try:
        await context.database.write(statement_of(commenting), timeout_s=context.settings.statement_timeout_s)
    except DatabaseError as error:
        raise SqlRejected(error) from None
    state = await _settled(context, arguments, wanted)
    if arguments.forgets and not state.is_on:
        for stored in decode_rows(
            await ask(context, "table", arguments.schema, arguments.table), StoredHistory
        ):
            await ask(context, "forget", stored.id)
    context.after = {"table": f"{arguments.schema}.{arguments.table}", "days": arguments.days}
    return state


async def versions(context: OperationContext, arguments: RowOfHistory) -> VersionsOfRow:
    """Return the versions of a row by its key, those of a deleted row too. Raises: ManagementError."""
    if not 1 <= arguments.limit <= _MOST_VERSIONS:
        raise invalid_arguments(f"`limit` is 1 to {_MOST_VERSIONS}")
    history = await history_of(context, arguments.schema, arguments.table)
    place = None if arguments.before is None else read_position(arguments.before)
    key = await _key_text(context, history, arguments.key)
    position = (None, None, None) if place is None else (place.lsn, place.number, place.index)
    rows = decode_rows(
        await ask(
            context, "versions", history.stored.id, array_literal([key]), *position, arguments.limit + 1
        ),
        StoredVersion,
    )
    stored = history.stored
    return VersionsOfRow(
        [whole_version(row) for row in rows[: arguments.limit]], stored.gaps, stored.days, stored.is_on, stored.since,
        len(rows) > arguments.limit,
    )  # fmt: skip


async def undo(context: OperationContext, arguments: VersionToUndo) -> Done:
    """Write the values of before a version as a new change, if the row still is as the version left it. Raises: ManagementError."""
    history = await history_of(context, arguments.schema, arguments.table)
    version = await version_of(context, history, arguments.version)
    await undo_version(context, history, version)
    context.after = {"table": f"{arguments.schema}.{arguments.table}", "version": arguments.version}
    return Done()


async def list_rows_at(context: OperationContext, arguments: MomentOfTable) -> RowsAtMoment:
    """Return the rows that changed since a moment, as they were then. Raises: ManagementError."""
    if not 1 <= arguments.limit <= _MOST_VERSIONS:
        raise invalid_arguments(f"`limit` is 1 to {_MOST_VERSIONS}")
    check_text("moment", arguments.moment, longest=64)
    history = await history_of(context, arguments.schema, arguments.table)
    moment = read_moment(history, arguments.moment, present_moment())
    rows = await rows_at(context, history, moment, None)
    return RowsAtMoment(rows[: arguments.limit], len(rows) > arguments.limit)


async def copy_rows(context: OperationContext, arguments: RowsToCopy) -> RowsCopiedBack:
    """Make rows as they were at a moment, in one transaction, or say what that overwrites. Raises: ManagementError."""
    if not 1 <= len(arguments.keys) <= MOST_COPIED:
        raise invalid_arguments(f"`keys` has 1 to {MOST_COPIED} keys")
    check_text("moment", arguments.moment, longest=64)
    check_text("expected", arguments.expected, longest=64, least=0)
    if not (arguments.only_tries or arguments.expected):
        raise invalid_arguments("Send `only_tries` first, and its `state` as `expected`")
    history = await history_of(context, arguments.schema, arguments.table)
    moment = read_moment(history, arguments.moment, present_moment())
    keys = [
        check_text("keys", key, longest=_LONGEST_KEY)
        if isinstance(key, str)
        else await _key_text(context, history, key)
        for key in arguments.keys
    ]
    keys = list(dict.fromkeys(keys))
    past = await rows_at(context, history, moment, keys)
    copied = await copy_back(context, history, past, arguments.expected, only_tries=arguments.only_tries)
    unchanged = set(keys) - {row.key for row in past}  # without a version since then: as they were
    copied.rows.extend(CopiedRow(key, "none", {}, {}) for key in keys if key in unchanged)
    context.after = {
        "table": f"{arguments.schema}.{arguments.table}", "moment": arguments.moment,
        "rows": [{"key": row.key, "action": row.action, "columns": sorted(row.before)} for row in copied.rows],
    }  # fmt: skip
    return copied


async def _key_text(context: OperationContext, history: HistoryOfTable, key: dict[str, Any]) -> str:
    try:
        return await key_text(context, history, key)
    except DatabaseError as error:
        raise SqlRejected(error) from None


async def erase(context: OperationContext, arguments: HistoryErasure) -> ErasedHistory:
    """Remove versions of a row, or those of a person's rows and his name in causes. Raises: ManagementError."""
    removed = names = 0
    if arguments.key is None and arguments.person is None:
        raise invalid_arguments("Send `key`, or `person`")
    if (arguments.key is not None or arguments.column is not None) and not arguments.table:
        raise invalid_arguments("`key` and `column` need `table`")
    if arguments.key is not None:
        history = await history_of(context, arguments.schema, arguments.table)
        key = await key_text(context, history, arguments.key)
        removed += _count(await ask(context, "erase_rows", history.stored.id, array_literal([key])))
    if arguments.person is not None:
        person = check_text("person", arguments.person, longest=200)
        for table_id, column in await _columns_of_persons(context, arguments):
            removed += _count(await ask(context, "erase_rows_of", table_id, column, person))
        names = _count(await ask(context, "erase_names", person))
    context.after = {"versions": removed, "names": names}
    return ErasedHistory(removed, names)


async def _columns_of_persons(context: OperationContext, arguments: HistoryErasure) -> list[tuple[int, str]]:
    """Return the columns that name persons: the one of the request, and all that reference auth.users, of tables with history."""
    columns: list[tuple[int, str]] = []
    if arguments.column is not None:
        history = await history_of(context, arguments.schema, arguments.table)
        columns.append((history.stored.id, history.table.column(arguments.column).name))
    for row in await ask(context, "references_to_users"):
        columns.append((int(row[0] or 0), (row[1] or b"").decode()))
    return list(dict.fromkeys(columns))


async def _settled(context: OperationContext, arguments: HistoryChange, wanted: bool) -> HistoryState:
    """Wait a while until the pool `history` has switched what the comment says."""
    deadline = asyncio.get_running_loop().time() + _WAIT_S
    while True:
        stored = decode_rows(await ask(context, "table", arguments.schema, arguments.table), StoredHistory)
        is_on = bool(stored) and stored[0].is_on
        is_done = is_on == wanted and (not is_on or stored[0].days == arguments.days)
        if is_done or asyncio.get_running_loop().time() > deadline:
            return HistoryState(is_on, not is_done)
        await asyncio.sleep(_LOOK_S)  # the pool switches in another process, and says so in the table alone


async def _comment(context: OperationContext, schema: str, table: str) -> str:
    [rows] = await context.database.read(
        statement(
            "select pg_catalog.to_json(coalesce(pg_catalog.obj_description("
            "pg_catalog.to_regclass(pg_catalog.format('%I.%I', $1::text, $2::text)), 'pg_class'), ''))",
            schema, table,
        ),
        timeout_s=context.settings.statement_timeout_s,
    )  # fmt: skip
    return decode_first(rows, str) or ""


def _check_kind(table: DescribedTable) -> None:
    """Refuse a table that cannot have a history. Raises: ManagementError (409)."""
    name = f"{table.schema}.{table.name}"
    if table.schema in PLATFORM_SCHEMAS:
        raise ManagementError(
            409, "platform_table", f"Tables of the platform's own schemas have no history: {name}"
        )
    if table.kind != "table":
        raise ManagementError(
            409, "not_a_table", f"{name} is a {table.kind}: only ordinary tables have a history"
        )
    if not table.key:
        raise ManagementError(409, "no_key", f"{name} has no primary key, so its rows cannot be told apart")


async def _check_generated(context: OperationContext, table: DescribedTable) -> None:
    """Refuse a table whose generated columns the log does not have. Raises: ManagementError (409)."""
    name = f"{table.schema}.{table.name}"
    rows = await ask(context, "unpublished_columns", table.schema, table.name)
    match (rows[0][0] or b"").decode() if rows else "":
        case "":
            return
        case "unpublished":
            raise ManagementError(
                409, "generated_columns", f"A publication of {name} lacks its generated columns, so its updates would fail",
                hint="alter publication NAME set (publish_generated_columns = stored)",
            )  # fmt: skip
        case problem:
            kind = "virtual generated columns" if problem == "virtual" else "generated columns"
            raise ManagementError(
                409, "generated_columns", f"{name} has {kind}, which Postgres does not let into a full replica identity",
                hint="Make them a view, fill them by a trigger, or from Postgres 18 on make them stored.",
            )  # fmt: skip


def _count(rows: list[Any]) -> int:
    return int(rows[0][0] or 0)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    developer, reader = Right.DEVELOPER, Right.READER
    return [
        Operation("history.tables", "List tables with a history of their rows", NoArguments, list[HistoryTable], reader, list_tables),
        Operation("history.change", "Switch the history of a table", HistoryChange, HistoryState, developer, change, changes=True),
        Operation("history.versions", "List versions of a row", RowOfHistory, VersionsOfRow, reader, versions),
        Operation("history.undo", "Undo a version of a row", VersionToUndo, Done, developer, undo, changes=True),
        Operation("history.rows_at", "List rows that changed since a moment, as they were", MomentOfTable, RowsAtMoment, reader, list_rows_at),
        Operation("history.copy_rows", "Make rows as they were at a moment", RowsToCopy, RowsCopiedBack, developer, copy_rows, changes=True, only_reads=lambda arguments: arguments.only_tries),
        Operation("history.erase", "Erase versions of a row, or of a person's rows", HistoryErasure, ErasedHistory, developer, erase, changes=True, is_confirmed=True, secrets=frozenset({"person", "key"})),
    ]  # fmt: skip
