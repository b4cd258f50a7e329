"""Reads from the catalog what a stream copies of a table, and says why it cannot. The table must be published before its changes are read."""

import asyncio
import hashlib

import msgspec

from schemas.settings.stream_checks import split_target, table_name
from schemas.settings.streams import StreamSettings
from schemas.webhooks import InvalidWebhook, WebhookFilterColumn, read_filters
from workers.database.sessions.leadership import Leadership
from workers.streams.model import SourceColumn, SourceTable, TargetRejects
from workers.streams.statements import SQL

_REASONS = {
    "identity": "the table has neither a primary key nor another replica identity",
    "columns": "a publication of realtime lists columns of the table",
    "kind": "it is no table that is written to the log",
}
_PLATFORM = (
    "headwater",
    "pg_catalog",
    "information_schema",
    "auth",
    "vault",
    "storage",
    "realtime",
    "cron",
    "net",
)
_WRITERS_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0


class TableMissing(TargetRejects):
    """There is no such table now. One may be made later."""


async def read_source(leadership: Leadership, stream: StreamSettings, text: str) -> SourceTable:
    """Return a table of a stream. Raises: TargetRejects with the reason; DatabaseError, LeadershipLost."""
    schema, name = table_name(text)
    if schema in _PLATFORM or schema.startswith(("pg_", "headwater_")):
        raise TargetRejects("tables of the platform's own schemas are not copied")
    rows = await leadership.ask(SQL["table"], schema, name)
    if not rows or not rows[0]["columns"]:
        raise TableMissing(f"there is no table {schema}.{name}")
    if rows[0]["kind"] not in ("r", "p"):
        raise TargetRejects(_REASONS["kind"])
    every = msgspec.json.decode(rows[0]["columns"], type=list[SourceColumn])
    wanted, without = _of_table(stream.columns, text), _of_table(stream.without, text) or []
    known = [column.name for column in every]
    if unknown := [column for column in (*(wanted or ()), *without) if column not in known]:
        raise TargetRejects(f"the table has no column {unknown[0]!r}")
    columns = tuple(
        column for column in every if (wanted is None or column.name in wanted) and column.name not in without
    )
    key = tuple(
        column.name
        for column in sorted(
            (one for one in every if one.key_place is not None), key=lambda one: one.key_place or 0
        )
    )
    if len(key) < rows[0]["key_columns"]:
        key = ()  # generated columns are not copied, and the others alone do not tell rows apart
    if key and rows[0]["has_other_identity"]:
        raise TargetRejects("its replica identity is an index that lacks columns of the primary key")
    copied = {column.name for column in columns}
    if missing := [column for column in key if column not in copied]:
        raise TargetRejects(f"the column {missing[0]!r} of the primary key must be copied")
    texts = _of_table(stream.filters, text) or []
    try:
        filters = tuple(read_filters(texts, [_filter_column(column) for column in every])) if texts else ()
    except InvalidWebhook as error:
        raise TargetRejects(str(error).replace(" in a webhook", "")) from None
    filtered = {condition.column for condition in filters}
    selected = msgspec.json.encode([
        stream.mode, sorted(texts), sorted(wanted or ()), sorted(without), key, _address_of_messages(stream)
    ])  # fmt: skip
    return SourceTable(
        schema,
        name,
        rows[0]["relation"],
        frozenset({(schema, name), *msgspec.json.decode(rows[0]["parts"], type=list[tuple[str, str]])}),
        columns,
        key,
        filters,
        tuple(column for column in every if column.name in filtered - copied),
        hashlib.sha256(selected).hexdigest()[:16],
    )


async def publish(leadership: Leadership, table: SourceTable) -> None:
    """Have the changes of a table written to the stream, all of transactions that end from now on. Raises: as `read_source`."""
    [[problem]] = await leadership.ask(SQL["publish"], table.relation)
    if problem:
        raise TargetRejects(_REASONS.get(problem, problem))
    # A transaction that wrote before the table was published may commit later: its earlier changes are in no message.
    pause_s, earlier = _WRITERS_PAUSE_S, None
    while True:
        writers = {row[0] for row in await leadership.ask(SQL["writers"], table.relation)}
        earlier = writers if earlier is None else earlier & writers
        if not earlier:
            return
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def _address_of_messages(stream: StreamSettings) -> str:
    """Return where messages go: such a target keeps no place, so that another one has to be seen by its address."""
    parts = split_target(stream)
    return f"{parts.hostname}:{parts.port}" if parts.scheme in ("kafka", "kafkas", "nats") else ""


def _of_table(named: dict[str, list[str]], text: str) -> list[str] | None:
    return next((values for table, values in named.items() if table_name(table) == table_name(text)), None)


def _filter_column(column: SourceColumn) -> WebhookFilterColumn:
    return WebhookFilterColumn(column.name, column.type if column.is_text_plain else "", column.is_enum)
