"""A table as a role sees it, and what its policies depend on. Source: docs/sync.md."""

import asyncio
import hashlib
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement, TransactionSpec
from workers.sql.files import read_statements
from workers.sync.errors import ShapeNotReady
from workers.sync.names import TableName

_SQL = read_statements("workers.sync", "catalog.sql")
_SETTINGS = (
    ("search_path", ""),
    ("standard_conforming_strings", "on"),
    ("quote_all_identifiers", "off"),
    ("statement_timeout", "10s"),
)
"""The first three decide how Postgres prints expressions."""
_WRITERS_S = 10.0
_PAUSE_S = 0.02
_LOCKED = "55P03"


class SyncColumn(Struct, frozen=True):
    """A column as the catalog has it, for one role."""

    name: str
    oid: int
    type: str
    """`pg_type.typname`; of an array that of its elements."""
    sql_type: str
    category: str
    """`pg_type.typtype`."""
    base: str
    """Type of a domain, else the type itself."""
    dimensions: int
    is_not_null: bool
    modifier: int
    generated: str
    may_select: bool
    is_deterministic: bool = True
    """Its collation calls no two different texts equal."""
    is_represented: bool = False
    """REST shows it by a function of its domain, not as `row_to_json` does."""


class Relation(Struct, frozen=True):
    """A table by its names and its oid."""

    oid: int
    schema: str
    name: str


class SyncTable(Struct, frozen=True):
    """A table as the catalog has it, for one role."""

    oid: int
    schema: str
    name: str
    is_partitioned: bool
    identity: str
    may_use: bool
    row_security: bool
    columns: list[SyncColumn]
    key: list[str]
    tree: list[Relation]
    """The table, its partitions and those that it is a partition of: any of them may name its changes."""
    policies: list[str]

    @property
    def readable(self) -> frozenset[str]:
        """Return the columns that the role may select."""
        return (
            frozenset(column.name for column in self.columns if column.may_select)
            if self.may_use
            else frozenset()
        )


class Reached(Struct, frozen=True):
    """What policies depend on. `others`: a view or the like is among it. `texts`: bodies of functions."""

    tables: list[Relation] = []
    others: bool = False
    functions: list[str] = []
    texts: list[str] = []
    policies: list[str] = []


class RightsDigest(Struct, frozen=True):
    """Digests of what decides who sees what: of each table by its oid, of all functions, of roles and all else."""

    tables: dict[str, str]
    functions: str
    others: str

    @property
    def text(self) -> str:
        """Return one digest of all."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


_decode_rights = msgspec.json.Decoder(RightsDigest).decode
_decode_table = msgspec.json.Decoder(SyncTable).decode
_decode_reached = msgspec.json.Decoder(Reached).decode


async def read_table(database: ConnectionPool, name: TableName, role: str) -> SyncTable | None:
    """Return a table as a role sees it; None if there is none. Raises: DatabaseError, Disconnected, PoolTimeout."""
    params = [name[0].encode(), name[1].encode(), role.encode()]
    rows = await _run(database, Statement(_SQL["table"], params))
    return _decode_table(rows[0][0] or b"") if rows else None


async def read_reached(database: ConnectionPool, oids: Sequence[int]) -> Reached:
    """Return what the policies of tables depend on. Raises: as `read_table`."""
    rows = await _run(database, Statement(_SQL["reached"], [_array(oids)]))
    return _decode_reached(rows[0][0] or b"")


async def read_rights(database: ConnectionPool) -> RightsDigest:
    """Return what changes when rights, policies, tables or functions change. Raises: as `read_table`."""
    rows = await _run(database, Statement(_SQL["rights"]))
    return _decode_rights(rows[0][0] or b"")


async def publish(database: ConnectionPool, oids: Sequence[int]) -> str:
    """Put tables into the publication of shapes, and wait for the transactions that wrote to them before.

    Changes that such a transaction made earlier are not in the log, although it commits later. Return why a table cannot be
    published ("identity", "columns", "kind"), or "". Raises: ShapeNotReady if the transactions take too long; as `read_table`.
    """
    for oid in oids:
        try:
            rows = await _run(database, Statement(_SQL["publish"], [str(oid).encode()]))
        except DatabaseError as error:
            if error.code == _LOCKED:
                raise ShapeNotReady("Failed to create shape, please retry: the table is locked") from None
            raise
        if reason := (rows[0][0] or b"").decode():
            return reason
    await _wait_for_writers(database, oids)
    return ""


async def unpublish_listed(database: ConnectionPool) -> int:
    """Take tables out of the publication whose columns another one lists; return how many. Raises: as `read_table`."""
    rows = await _run(database, Statement(_SQL["unpublish_listed"]))
    return int(rows[0][0] or 0)


async def request_tick(database: ConnectionPool) -> int:
    """Ask that the stream says when everything up to now is in it; return the position of now. Raises: as `read_table`."""
    rows = await _run(database, Statement(_SQL["fence"]))
    return int(rows[0][0] or 0)


async def read_position(database: ConnectionPool) -> int:
    """Return the position behind everything that the database has written. Raises: as `read_table`."""
    rows = await _run(database, Statement(_SQL["position"]))
    return int(rows[0][0] or 0)


async def _wait_for_writers(database: ConnectionPool, oids: Sequence[int]) -> None:
    deadline = time.monotonic() + _WRITERS_S
    earlier: set[bytes | None] | None = None
    pause_s = _PAUSE_S
    while True:
        rows = await _run(database, Statement(_SQL["writers"], [_array(oids)]))
        writers = {row[0] for row in rows}
        earlier = writers if earlier is None else earlier & writers
        if not earlier:
            return
        if time.monotonic() > deadline:
            raise ShapeNotReady("Failed to create shape, please retry: a transaction writes to the table")
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.5)


async def _run(database: ConnectionPool, statement: Statement) -> list[tuple[bytes | None, ...]]:
    (rows,) = await database.run(TransactionSpec(_SETTINGS, [statement], isolation="read committed"))
    return rows


def _array(oids: Sequence[int]) -> bytes:
    return b"{%b}" % b",".join(str(oid).encode() for oid in oids)
