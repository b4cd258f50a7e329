"""Rows in tables of another Postgres, under the same names, exactly once: the place is in a table `headwater_streams` there, in the transaction that has the rows.

The tables are made there beforehand, with the copied columns and a primary key or unique index of the same columns; further columns need defaults. Values travel as JSON, which the server
reads by the types of its own columns.
"""

import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import asyncpg

from schemas.changes import Values
from schemas.settings.streams import StreamSettings
from workers.sql.compose import quoted
from workers.streams.model import (
    CopyPlace,
    SourceTable,
    StreamChange,
    TargetAway,
    TargetRejects,
    last_by_key,
)

_CONNECT_S, _ANSWER_S, _EMPTY_S = 10.0, 60.0, 3600.0
"""`_EMPTY_S`: until all rows are deleted, which may be very many."""
_PLACES = """
create table if not exists public.headwater_streams (
  stream text not null, table_schema text not null, table_name text not null, place text not null, primary key (stream, table_schema, table_name)
)"""
_PLACE = "select place from public.headwater_streams where (stream, table_schema, table_name) = ($1, $2, $3)"
_KEEP = """
insert into public.headwater_streams (stream, table_schema, table_name, place) values ($1, $2, $3, $4)
on conflict (stream, table_schema, table_name) do update set place = excluded.place"""
_LOCK = "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))"
_COLUMNS = """
select a.attname::text as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type
from pg_catalog.pg_attribute as a where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped"""
_AWAY = ("08", "53", "57", "40", "55")
"""Classes of SQLSTATE that pass by themselves: connection, resources, operator, rollbacks, locks."""

_UNIQUE = "23505"


class PostgresTarget:
    """One table of a target in another Postgres."""

    keeps_place = True
    newest_epoch = 0

    def __init__(self, name: str, settings: StreamSettings, source: SourceTable) -> None:
        if not source.key:
            raise TargetRejects("a table that is copied to Postgres needs a primary key")
        self._key = (name, source.schema, source.name)
        self._settings, self._source = settings, source
        self._connection: asyncpg.Connection | None = None
        self._types: dict[str, str] = {}
        self._place: CopyPlace | None = None

    async def open(self) -> CopyPlace | None:
        """Connect, and return where the target is. Raises: TargetAway, TargetRejects."""
        assert self._settings.target is not None  # checked with the settings
        with _errors():
            self._connection = connection = await asyncpg.connect(
                self._settings.target.reveal(), timeout=_CONNECT_S, command_timeout=_ANSWER_S,
                server_settings={"application_name": "headwater streams", "TimeZone": "UTC"},
            )  # fmt: skip
            await connection.execute(_PLACES)
            text = await connection.fetchval(_PLACE, *self._key)
        await self._read_types()
        self._place = CopyPlace.parse(text or "")
        return self._place

    async def fit(self, source: SourceTable, renamed: Sequence[tuple[str, str]]) -> None:
        """Write the columns as they are now; the target's table has to have them. Raises: TargetRejects, TargetAway."""
        self._source = source
        await self._read_types()

    async def snapshot(self, pages: AsyncIterator[list[Values]], place: CopyPlace) -> int:
        """Have all rows take the place of those there, in one transaction. Raises: TargetAway, TargetRejects."""
        count = 0
        with _errors():
            async with self._open().transaction():
                await self._lock()
                await self._open().execute(f"delete from {self._table}", timeout=_EMPTY_S)  # noqa: S608 - a quoted name
                async for page in pages:
                    await self._upsert(page)
                    count += len(page)
                await self._keep(place)
        self._place = place
        return count

    async def write(self, changes: Sequence[StreamChange], place: CopyPlace) -> None:
        """Write what changes leave, and the place, in one transaction. Raises: TargetAway, TargetRejects."""
        is_emptied, last = last_by_key(changes, self._source.key_places)
        with _errors():
            async with self._open().transaction():
                await self._lock()
                if is_emptied:
                    await self._open().execute(f"delete from {self._table}", timeout=_EMPTY_S)  # noqa: S608 - a quoted name
                await self._delete([key for key, change in last.items() if change is None])
                await self._upsert([change.values for change in last.values() if change is not None])
                await self._keep(place)
        self._place = place

    async def tidy(self) -> None:
        """Nothing has to be done."""

    def figures(self) -> Mapping[str, float]:
        """Nothing is counted."""
        return {}

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()  # what is not committed is written again

    @property
    def _table(self) -> str:
        return f"{quoted(self._source.schema)}.{quoted(self._source.name)}"

    def _open(self) -> asyncpg.Connection:
        assert self._connection is not None  # opened before
        return self._connection

    async def _read_types(self) -> None:
        with _errors():
            rows = await self._open().fetch(_COLUMNS, self._table)
        self._types = {row["name"]: row["type"] for row in rows}
        if not rows:
            raise TargetRejects(
                "the target has no such table: make it there, with the same columns and primary key"
            )
        if missing := [name for name in self._source.names if name not in self._types]:
            raise TargetRejects(f"the table of the target has no column {missing[0]!r}")

    async def _lock(self) -> None:
        """Wait for another writer, and see that it has not written since. Raises: TargetAway."""
        await self._open().execute(_LOCK, "/".join(self._key))
        stored = CopyPlace.parse(await self._open().fetchval(_PLACE, *self._key) or "")
        if stored != self._place:
            raise TargetAway("another writer has changed the table")

    async def _keep(self, place: CopyPlace) -> None:
        await self._open().execute(_KEEP, *self._key, place.as_text())

    async def _upsert(self, rows: Sequence[Values]) -> None:
        if not rows:
            return
        source = self._source
        names = [quoted(name) for name in source.names]
        rest = [name for name, plain in zip(names, source.names, strict=True) if plain not in source.key]
        action = (
            f"update set {', '.join(f'{name} = excluded.{name}' for name in rest)}" if rest else "nothing"
        )
        selected = ", ".join(self._value(place) for place in range(len(names)))
        records = self._records(range(len(names)))
        insert = f"insert into {self._table} ({', '.join(names)}) overriding system value"
        conflict = f"on conflict ({', '.join(map(quoted, source.key))}) do {action}"
        statement = f"{insert} select {selected} from {records} {conflict}"  # noqa: S608 - quoted names
        await self._open().execute(statement, _json(rows, range(len(names))))

    async def _delete(self, keys: Sequence[tuple[bytes, ...]]) -> None:
        if not keys:
            return
        source, places = self._source, self._source.key_places
        equal = " and ".join(f"t.{quoted(source.names[place])} = {self._value(place)}" for place in places)
        rows: list[Values] = []
        for key in keys:
            row: Values = [None] * len(source.names)
            for place, part in zip(places, key, strict=True):
                row[place] = part
            rows.append(row)
        await self._open().execute(
            f"delete from {self._table} as t using {self._records(places)} where {equal}",  # noqa: S608 - quoted names
            _json(rows, places),
        )

    def _records(self, places: Sequence[int]) -> str:
        columns = ", ".join(
            f"c{place} {'text' if self._is_binary(place) else self._types[self._source.names[place]]}"
            for place in places
        )
        return f"pg_catalog.json_to_recordset($1::json) as r ({columns})"

    def _value(self, place: int) -> str:
        return f"pg_catalog.decode(r.c{place}, 'hex')" if self._is_binary(place) else f"r.c{place}"

    def _is_binary(self, place: int) -> bool:
        return self._source.columns[place].type == "bytea"


def _json(rows: Sequence[Values], places: Sequence[int]) -> str:
    objects = (
        b"{%b}" % b",".join([b'"c%d":%b' % (place, row[place] or b"null") for place in places])
        for row in rows
    )
    return (b"[%b]" % b",".join(objects)).decode()


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of the target as TargetAway or TargetRejects, without texts that may contain values."""
    try:
        yield
    except asyncpg.PostgresError as error:
        reason = f"the target answers with SQLSTATE {error.sqlstate}"
        if (error.sqlstate or "")[:2] in _AWAY:
            raise TargetAway(reason) from None
        if error.sqlstate == _UNIQUE:
            reason = (
                f"{reason}: rows may exchange values of a unique index there that is not the primary key, "
                "so make it a deferrable constraint, or drop it"
            )
        raise TargetRejects(reason) from None
    except (
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        ssl.SSLError,
        OSError,
        TimeoutError,
    ) as error:
        raise TargetAway(f"the target does not answer: {type(error).__name__}") from None
