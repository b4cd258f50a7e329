"""Rows grouped by the columns that policies read: rows that no policy can tell apart are evaluated once.

A class is known by one of its rows. A table whose groups are too many is sampled: the rows with the least hash of their key, which are the same rows
before and after a change. Rows that the change wrote, or that are in two databases, are joined by their key on a session of their own (`RowNotes`).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

import asyncpg
from msgspec import Struct

from workers.project.access.catalog import AccessRelation
from workers.sql import compose

_MOST_KEY = 200
"""Characters of a key that are shown, and by which rows are joined beyond it: a longer key is its hash."""
_MOST_PIECES = 8
_HASH = "pg_catalog.hashtextextended(key_, 0)"
_PAIRS = """
select was.class, now.class, pg_catalog.count(*), min(was.key collate "C"), max(was.key collate "C")
from pg_temp.rows_before_{number} as was join pg_temp.rows_after_{number} as now on now.key = was.key group by 1, 2"""


class RowClass(Struct, frozen=True):
    """Rows with equal `values` of the columns: how many, and the least and the greatest key."""

    id: str
    values: tuple[str | None, ...]
    count: int
    first: str
    last: str


class ClassedRows(Struct, frozen=True):
    """The classes of a table in one state. `total` rows; `is_sample`: each class is one row of a sample."""

    columns: list[str]
    key: list[str]
    classes: list[RowClass]
    total: int
    is_sample: bool


class JudgedRow(Struct, frozen=True):
    """A row as the text of a composite value, None if a state does not have it, and the text of the columns that policies read."""

    text: str | None
    values: dict[str, str | None]

    def values_of(self, columns: Sequence[str]) -> tuple[object, ...]:
        """Return what expressions that read these columns can tell of the row."""
        return (self.text is None, *(self.values.get(name) for name in columns))


class RowPair(Struct, frozen=True):
    """Rows that are of one class before and of one after: indexes of both, how many rows, and keys of some."""

    before: int
    after: int
    count: int
    keys: tuple[str, ...]


def key_sql(key: Sequence[str]) -> str:
    """Return the SQL of a row's key as a text: of the key's columns, or of the row's place if there are none."""
    if not key:
        parts = "table_.tableoid::pg_catalog.text, table_.ctid::pg_catalog.text"
        return f"pg_catalog.concat_ws(' ', {parts})"
    texts = [f"table_.{compose.quoted(name)}::pg_catalog.text" for name in key]
    whole = (
        texts[0] if len(texts) == 1 else f"pg_catalog.jsonb_build_array({', '.join(texts)})::pg_catalog.text"
    )
    return f"case when pg_catalog.length({whole}) > {_MOST_KEY} then pg_catalog.md5({whole}) else {whole} end"


async def read_classes(
    connection: asyncpg.Connection,
    relation: AccessRelation,
    columns: Sequence[str],
    key: Sequence[str],
    most: int,
) -> ClassedRows:
    """Group the rows of a table by columns, or sample `most` of them. Raises: the driver's errors."""
    names = [f"v{number}" for number in range(len(columns))]
    inner = _keyed_rows(relation, columns, key)
    listed = "".join(f", {name}" for name in names)
    group = f" group by {', '.join(names)}" if names else ""
    total = int(await connection.fetchval(f"select pg_catalog.count(*) from {_table(relation)}"))  # noqa: S608 - quoted names of the catalog
    grouped = f'select pg_catalog.count(*), min(key_ collate "C"), max(key_ collate "C"), {_class_id(len(columns))}{listed} from ({inner}) as rows_{group} order by 2 limit {most + 1}'  # noqa: S608 - as above
    rows = await connection.fetch(grouped) if total else []
    is_sample = len(rows) > most
    if is_sample:
        sample = (
            f"select 1, key_, key_, key_{listed} from ({inner}) as rows_ order by {_HASH}, key_ limit {most}"  # noqa: S608 - as above
        )
        rows = await connection.fetch(sample)
    classes = [RowClass(row[3], tuple(row)[4:], row[0], row[1], row[2]) for row in rows]
    return ClassedRows(list(columns), list(key), classes, total, is_sample)


async def read_representatives(
    connection: asyncpg.Connection,
    relation: AccessRelation,
    columns: Sequence[str],
    key: Sequence[str],
    keys: Sequence[str],
) -> list[str | None]:
    """Return a row for each key as the text of a composite value, with the values of `columns` alone; None where it is not there."""
    parts = [
        f"table_.{compose.quoted(column.name)}" if column.name in columns or column.is_domain else "null"
        for column in relation.columns
    ]
    sql = f"""
select {key_sql(key)} as key_, (row({", ".join(parts)})::{_table(relation)})::pg_catalog.text
from {_table(relation)} as table_ where {key_sql(key)} = any ($1::pg_catalog.text[])"""  # noqa: S608 - quoted names of the catalog
    found = {row[0]: row[1] for row in await connection.fetch(sql, list(dict.fromkeys(keys)))}
    return [found.get(key) for key in keys]


async def read_possible_rows(
    connection: asyncpg.Connection, relation: AccessRelation, rows: Sequence[dict[str, str | None]]
) -> list[str | None]:
    """Return rows that are not stored as texts of composite values; None where a value does not fit its column."""
    sql = (
        f"select (pg_catalog.jsonb_populate_record(null::{_table(relation)}, item))::pg_catalog.text "  # noqa: S608 - quoted names of the catalog
        "from pg_catalog.jsonb_array_elements($1::pg_catalog.jsonb) with ordinality as items (item, place) order by place"
    )
    try:
        async with connection.transaction():
            return [row[0] for row in await connection.fetch(sql, json.dumps(rows))]
    except asyncpg.PostgresError:
        if len(rows) == 1:
            return [None]
    half = len(rows) // 2
    parts = (rows[:half], rows[half:])
    return [text for part in parts for text in await read_possible_rows(connection, relation, part)]


def _keyed_rows(relation: AccessRelation, columns: Sequence[str], key: Sequence[str]) -> str:
    values = "".join(
        f", table_.{compose.quoted(name)}::pg_catalog.text as v{number}"
        for number, name in enumerate(columns)
    )
    return f"select {key_sql(key)} as key_{values} from {_table(relation)} as table_"  # noqa: S608 - quoted names of the catalog


def _class_id(columns: int) -> str:
    values = "".join(f", v{number}" for number in range(columns))
    return f"pg_catalog.md5(pg_catalog.jsonb_build_array(null{values})::pg_catalog.text)"


def _table(relation: AccessRelation) -> str:
    return f"{compose.quoted(relation.schema)}.{compose.quoted(relation.name)}"


def identical(rows: ClassedRows) -> list[RowPair]:
    """Return the pairs of a table whose rows are the same in both states (pure)."""
    return [
        RowPair(number, number, item.count, tuple(dict.fromkeys((item.first, item.last))))
        for number, item in enumerate(rows.classes)
    ]


class RowNotes:
    """Which rows are in which class, before and after: temporary tables of a session that reads nothing else."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        """Use a session that no other work uses."""
        self._connection = connection

    async def note(
        self, side: str, number: int, source: asyncpg.Connection, relation: AccessRelation, rows: ClassedRows
    ) -> None:
        """Store the class of each row of a state, `before` or `after`, of the table of this number. Raises: the driver's errors."""
        table = f"rows_{side}_{number}"
        await self._connection.execute(
            f"drop table if exists pg_temp.{table}; create temporary table {table} (key text, class text)"
        )
        inner = _keyed_rows(relation, rows.columns, rows.key)
        sql = f"select key_, {_class_id(len(rows.columns))} from ({inner}) as rows_"  # noqa: S608 - quoted names of the catalog
        if rows.is_sample:
            sql = (
                f"select key_, key_ from ({inner}) as rows_ order by {_HASH}, key_ limit {len(rows.classes)}"  # noqa: S608 - as above
            )
        pieces: asyncio.Queue[bytes | None] = asyncio.Queue(_MOST_PIECES)

        async def copy_out() -> None:
            await source.copy_from_query(sql, output=pieces.put)
            await pieces.put(None)

        async with asyncio.TaskGroup() as group:
            group.create_task(copy_out())
            await self._connection.copy_to_table(table, schema_name="pg_temp", source=_taken(pieces))
        await self._connection.execute(f"analyze pg_temp.{table}")

    async def pairs(self, number: int, before: ClassedRows, after: ClassedRows) -> list[RowPair]:
        """Return the pairs of classes of the rows of a table that both states have. Raises: the driver's errors."""
        rows = await self._connection.fetch(_PAIRS.format(number=int(number)))
        was = {item.id: place for place, item in enumerate(before.classes)}
        now = {item.id: place for place, item in enumerate(after.classes)}
        return [
            RowPair(was[row[0]], now[row[1]], row[2], tuple(dict.fromkeys((row[3], row[4]))))
            for row in rows
            if row[0] in was and row[1] in now
        ]


async def _taken(pieces: asyncio.Queue[bytes | None]) -> AsyncIterator[bytes]:
    while (piece := await pieces.get()) is not None:
        yield piece
