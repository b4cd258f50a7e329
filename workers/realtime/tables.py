"""TABLE: what a role may see of a table, and the rule that decides which rows are visible.

Theory. The answer names a position of the log at which it was true. The position is read before the catalog, and only returned
if every schema change up to it is visible: a commit is in the log a moment before other transactions see it (migration
realtime/0006). The query waits until that moment is over. If a transaction delays it for more than `SETTLE_S`, the answer has no
position; if the query requires one, it fails.
"""

import asyncio

import msgspec
from msgspec import Struct

from schemas.errors import Unavailable
from schemas.realtime import EveryRow, NoRow, Rule, TableGrant, TableQuery
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.model import Statement, TransactionSpec
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.policies import AuthFunction, RowPolicy, rule_of, trusted_functions
from workers.realtime.recognition import PolicyColumn, PolicyScope, is_recognised
from workers.sql.files import read_statements

ASK_AGAIN_S = 1.0
"""Seconds for which an answer is valid if schema changes are not marked in the log."""
ROLES_S = 5.0
"""Seconds for which it is valid otherwise: roles belong to the whole server, so their changes are not in the log."""
SETTLE_S = 2.0
"""Seconds that a schema change may take from the log until it is visible; then the query gives up."""

_SQL = read_statements("workers.realtime", "tables.sql")
_SETTINGS = (
    ("search_path", ""),
    ("standard_conforming_strings", "on"),
    ("quote_all_identifiers", "off"),
    ("statement_timeout", "5s"),
)
"""The first three decide how Postgres prints expressions."""
_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1


class DescribedColumn(Struct, frozen=True):
    """A column as the catalog has it."""

    name: str
    typname: str
    type: str
    is_enum: bool
    is_deterministic: bool
    may_select: bool


class CatalogTable(Struct, frozen=True):
    """A table as the catalog has it, for one role."""

    is_published: bool
    is_bypassed: bool
    row_security: bool
    columns: list[DescribedColumn]
    key: list[str]
    policies: list[RowPolicy]
    functions: list[AuthFunction]


class SchemaPosition(Struct, frozen=True):
    """Position of the log up to which the schema is visible."""

    lsn: int
    is_settled: bool
    is_marked: bool


_decode_position = msgspec.json.Decoder(SchemaPosition).decode
_decode_table = msgspec.json.Decoder(CatalogTable).decode


async def describe_table(
    database: ConnectionPool, query: TableQuery, metrics: RealtimeMetrics, *, settle_s: float = SETTLE_S
) -> TableGrant:
    """Answer TABLE. Raises: DatabaseError, Disconnected, PoolTimeout; Unavailable if `least_lsn` is not reached."""
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + settle_s, _PAUSE_S
    while True:
        position, table = await _read_catalog(database, query)
        is_reached = position.is_settled and position.lsn >= query.least_lsn
        if is_reached or loop.time() >= deadline:
            break
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    if not is_reached and query.least_lsn:
        raise Unavailable("the schema is being changed")
    return table_of(
        table, query.role, position if is_reached else SchemaPosition(0, False, position.is_marked), metrics
    )


def table_of(
    table: CatalogTable | None, role: str, position: SchemaPosition, metrics: RealtimeMetrics
) -> TableGrant:
    """Return the answer. Pure, except that it counts the rule. A table or role that does not exist shows no column."""
    valid_s = ROLES_S if position.is_marked else ASK_AGAIN_S
    if table is None:
        return TableGrant([], [], False, False, NoRow(), position.lsn, False, valid_s)
    selectable = {column.name: column.typname for column in table.columns if column.may_select}
    has_row_security = table.row_security and not table.is_bypassed
    return TableGrant(
        columns=list(selectable.items()),
        key=table.key,
        can_see_key=all(name in selectable for name in table.key),
        row_security=has_row_security,
        rule=_rule(table, role, metrics) if has_row_security else EveryRow(),
        at=position.lsn,
        is_published=table.is_published,
        valid_s=valid_s,
    )


def _rule(table: CatalogTable, role: str, metrics: RealtimeMetrics) -> Rule:
    columns = {
        column.name: PolicyColumn(column.type, column.is_enum, column.is_deterministic)
        for column in table.columns
    }
    rule = rule_of(table.policies, PolicyScope(columns, role, trusted_functions(table.functions)))
    metrics.recognised(is_recognised(rule))
    return rule


async def _read_catalog(
    database: ConnectionPool, query: TableQuery
) -> tuple[SchemaPosition, CatalogTable | None]:
    """Read the position first, then the catalog: under read committed each statement has a snapshot of its own."""
    names = [name.encode() for name in (query.schema, query.table, query.role)]
    statements = [Statement(_SQL["known"]), Statement(_SQL["table"], names)]
    work = TransactionSpec(_SETTINGS, statements, isolation="read committed")
    positions, tables = await database.run(work)
    table = _decode_table(tables[0][0] or b"") if tables else None
    return _decode_position(positions[0][0] or b""), table
