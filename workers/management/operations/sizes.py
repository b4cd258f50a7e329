"""Operations on tables, indexes, sequences and the database as a whole: sizes, use, age."""

from msgspec import Struct

from workers.management.areas.statistics.reading import check_name, read_statistics
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments


class SizeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Objects of one schema or of all, the largest first."""

    schema: str | None = None


class TableStatistics(Struct, frozen=True):
    """A table: its size (null while it is being changed), how it is read, its dead rows and its last vacuum.

    `wraparound_age` is in transactions.
    """

    schema: str
    name: str
    live_rows: int
    dead_rows: int
    sequential_scans: int
    index_scans: int
    inserted: int
    updated: int
    deleted: int
    hot_updated: int
    wraparound_age: int
    blocks_hit: int
    blocks_read: int
    autovacuum: bool
    bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None
    rows: int | None = None
    """The planner's estimate, null before the first ANALYZE."""
    vacuumed_at: str | None = None
    analyzed_at: str | None = None


class ScannedTable(Struct, frozen=True):
    """A large table that is mostly read whole: an index on the columns of its filters may be missing."""

    schema: str
    name: str
    rows: int
    sequential_scans: int
    rows_read: int
    index_scans: int


class IndexStatistics(Struct, frozen=True):
    """An index, its size, and how often it was used since statistics are counted."""

    schema: str
    table: str
    name: str
    scans: int
    definition: str
    is_unique: bool
    is_valid: bool
    bytes: int | None = None


class SequenceStatistics(Struct, frozen=True):
    """A sequence. `used` is the share of its values that are gone; at 1 the next value is an error, unless it cycles."""

    schema: str
    name: str
    type: str
    end: int
    cycles: bool
    last: int | None = None
    used: float | None = None


class RoleConnections(Struct, frozen=True):
    """How many sessions of a role are in a state. `role` is null for processes of the server."""

    state: str
    count: int
    role: str | None = None


class SlotStatistics(Struct, frozen=True):
    """A replication slot, and how many bytes of log the server keeps for it."""

    name: str
    is_active: bool
    is_temporary: bool
    plugin: str | None = None
    kept_bytes: int | None = None
    wal_status: str | None = None


class DatabaseStatistics(Struct, frozen=True):
    """The database: size, hit rates of the cache, connections by role, replication slots, age in transactions."""

    bytes: int
    wraparound_age: int
    wraparound_limit: int
    commits: int
    rollbacks: int
    deadlocks: int
    temp_bytes: int
    max_connections: int
    connections_in_use: int
    """Of the whole server, as `max_connections` is."""
    connections: list[RoleConnections]
    slots: list[SlotStatistics]
    cache_hit_rate: float | None = None
    index_hit_rate: float | None = None
    counted_since: str | None = None


async def list_tables(context: OperationContext, arguments: SizeQuery) -> list[TableStatistics]:
    """Return tables with their sizes, scans, dead rows and last vacuum."""
    check_name(arguments.schema, "schema")
    return await read_statistics(
        context, "tables", TableStatistics, arguments.schema, context.settings.max_rows
    )


async def list_indexes(context: OperationContext, arguments: SizeQuery) -> list[IndexStatistics]:
    """Return indexes with their sizes and uses."""
    check_name(arguments.schema, "schema")
    return await read_statistics(
        context, "indexes", IndexStatistics, arguments.schema, context.settings.max_rows
    )


async def list_scanned(context: OperationContext, arguments: NoArguments) -> list[ScannedTable]:
    """Return tables of more than 10,000 rows that are read whole more often than by an index."""
    del arguments
    return await read_statistics(context, "missing_indexes", ScannedTable, context.settings.max_rows)


async def list_sequences(context: OperationContext, arguments: NoArguments) -> list[SequenceStatistics]:
    """Return sequences, those nearest to their end first."""
    del arguments
    return await read_statistics(context, "sequences", SequenceStatistics, context.settings.max_rows)


async def describe_database(context: OperationContext, arguments: NoArguments) -> DatabaseStatistics:
    """Return the state of the database as a whole."""
    del arguments
    [database] = await read_statistics(context, "database", DatabaseStatistics)
    return database


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader = Right.READER
    return [
        Operation("statistics.tables", "List sizes and use of tables", SizeQuery, list[TableStatistics], reader, list_tables),
        Operation("statistics.indexes", "List sizes and use of indexes", SizeQuery, list[IndexStatistics], reader, list_indexes),
        Operation("statistics.missing_indexes", "List large tables read whole", NoArguments, list[ScannedTable], reader, list_scanned),
        Operation("statistics.sequences", "List sequences by their end", NoArguments, list[SequenceStatistics], reader, list_sequences),
        Operation("statistics.database", "Describe the database", NoArguments, DatabaseStatistics, reader, describe_database),
    ]  # fmt: skip
