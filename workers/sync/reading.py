"""Reads rows as the caller of a shape: every statement runs under the role and claims of the shape's identity.

A snapshot is read through a cursor, page by page, or copied, in one transaction of isolation REPEATABLE READ. Rows by key are read in one too,
together with the text of the snapshot, so that it is known which transactions they include.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import msgspec

from schemas.row_tags import tag_of_row
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement, TransactionSpec
from workers.sql.compose import quoted
from workers.sync.messages import RowState, tagged
from workers.sync.rows import OUTPUT_SETTINGS, ShapeSql

PAGE = 2000
"""Rows of one FETCH: their bytes are in memory once."""
_SNAPSHOT = Statement(
    "select pg_catalog.pg_current_snapshot()::pg_catalog.text, (pg_catalog.pg_current_wal_insert_lsn() - '0/0')::pg_catalog.int8"
)
_WITHOUT_LIMIT = Statement(
    "select (1000 * pg_catalog.extract('epoch', pg_catalog.current_setting('statement_timeout')::pg_catalog.interval))::pg_catalog.int8,"
    " pg_catalog.set_config('statement_timeout', '0', true)"
)
"""A COPY lasts as long as its rows take to be stored. Each wait for rows has the limit of the role instead, as each FETCH has."""
_LONGEST_WAIT_S = 30.0
_FETCH = Statement(f"fetch {PAGE} from hw_rows")
_FETCH_JSON = Statement(f"fetch {PAGE} from hw_json")
_CURRENT = Statement(
    "select " + ", ".join(f"pg_catalog.current_setting('{name}')" for name, _ in OUTPUT_SETTINGS)
)


@dataclass(frozen=True, slots=True)
class DatabaseSession:
    """Under which role, claims and settings statements run. `role_settings`: those of `alter role ... set`."""

    role: str
    claims: str
    schema: str
    role_settings: tuple[tuple[str, str], ...] = ()

    def settings(self, *, has_output: bool = True) -> list[tuple[str, str]]:
        """Return the settings of a transaction, in order. Without those of the output values are written as REST writes them."""
        return [
            ("search_path", f"{quoted(self.schema)}, public, extensions"),
            *self.role_settings,
            *(OUTPUT_SETTINGS if has_output else ()),
            ("role", self.role),
            ("request.jwt.claims", self.claims),
        ]


@dataclass(frozen=True, slots=True)
class SnapshotPoint:
    """A snapshot's text (`xmin:xmax:xip,...`), and a position behind all commits that it may see."""

    text: str
    lsn: int


async def read_by_keys(
    database: ConnectionPool, session: DatabaseSession, sql: ShapeSql, keys: Sequence[Sequence[str]]
) -> tuple[SnapshotPoint, list[RowState]]:
    """Return what the caller sees now at some keys, in their order. Raises: DatabaseError, Disconnected, PoolTimeout."""
    statements = [_SNAPSHOT, sql.by_keys(keys)]
    if sql.has_tags:
        statements[1:1] = [
            sql.by_keys(keys, as_texts=False),
            _set_output([value for _, value in OUTPUT_SETTINGS]),
        ]
    settings = session.settings(has_output=not sql.has_tags)
    spec = TransactionSpec(settings, statements, read_only=True, isolation="repeatable read")
    results = await database.run(spec)
    tags = [tag_of_row(row[1]) if row[1] else "" for row in results[1]] if sql.has_tags else None
    rows = results[-1]
    states = [
        RowState(row[0] or b"", row[1], tag) for row, tag in zip(rows, tags or [""] * len(rows), strict=True)
    ]
    return _point(results[0][0]), states


def _set_output(values: Sequence[str]) -> Statement:
    """Return the statement that sets the settings of `OUTPUT_SETTINGS` to some values."""
    calls = ", ".join(
        f"pg_catalog.set_config('{name}', ${place}, true)"
        for place, (name, _) in enumerate(OUTPUT_SETTINGS, 1)
    )
    return Statement(f"select {calls}", [value.encode() for value in values])


async def check(database: ConnectionPool, session: DatabaseSession, *statements: Statement) -> None:
    """Run statements whose rows do not matter. Raises: as `read_by_keys`."""
    await database.run(TransactionSpec(session.settings(), statements, read_only=True))


class CallerSnapshot:
    """One snapshot of the database in an open transaction, as a caller sees it. Made by `open_snapshot`."""

    def __init__(self, transaction: Transaction, point: SnapshotPoint) -> None:
        self._transaction, self.point = transaction, point

    async def pages(self, statement: Statement) -> AsyncIterator[list[bytes]]:
        """Yield the first values of a statement's rows, page by page. Raises: as `read_by_keys`."""
        head = f"declare hw_rows no scroll cursor for {statement.text}"
        await self._transaction.run(Statement(head, statement.params))
        while True:
            (rows,) = await self._transaction.run(_FETCH)
            if rows:
                yield [row[0] or b"" for row in rows]
            if len(rows) < PAGE:
                break
        await self._transaction.run(Statement("close hw_rows"))

    async def tagged_pages(self, messages: Statement, rows: Statement) -> AsyncIterator[list[bytes]]:
        """Yield messages with the tags of their rows, page by page; both statements give the same rows in the same order.

        The snapshot is one that was opened without the settings of the output. Raises: as `read_by_keys`.
        """
        ((current,),) = await self._transaction.run(_CURRENT)
        rest = _set_output([(value or b"").decode() for value in current])
        output = _set_output([value for _, value in OUTPUT_SETTINGS])
        for name, statement in (("hw_rows", messages), ("hw_json", rows)):
            head = f"declare {name} no scroll cursor for {statement.text}"
            await self._transaction.run(Statement(head, statement.params))
        while (
            True
        ):  # expressions of a cursor are evaluated when rows are fetched, under the settings of that moment
            _, texts, _, documents = await self._transaction.run(output, _FETCH, rest, _FETCH_JSON)
            if texts:
                yield await asyncio.to_thread(_tagged, texts, documents)
            if len(texts) < PAGE:
                break
        await self._transaction.run(Statement("close hw_rows"), Statement("close hw_json"))

    async def copied(self, statement: Statement) -> AsyncGenerator[bytes]:
        """Yield the rows of a COPY, whole ones, joined as they have arrived. Raises: as `read_by_keys`."""
        ((limit, _),) = (await self._transaction.run(_WITHOUT_LIMIT))[0]
        longest_s = min(int(limit or 0) / 1000 or _LONGEST_WAIT_S, _LONGEST_WAIT_S)
        async with aclosing(self._transaction.copy(statement)) as rows:
            while True:
                try:
                    async with asyncio.timeout(longest_s):
                        page = await anext(rows, None)
                except TimeoutError:
                    raise DatabaseError("57014", "no row came within the statement timeout") from None
                if page is None:
                    return
                yield page


@asynccontextmanager
async def open_snapshot(
    database: ConnectionPool, session: DatabaseSession, *, has_output: bool = True
) -> AsyncIterator[CallerSnapshot]:
    """Yield a snapshot as the caller sees it; `has_output`: values are written as messages have them. Raises: as `read_by_keys`."""
    async with database.transaction(session.settings(has_output=has_output), is_snapshot=True) as transaction:
        ((row,),) = await transaction.run(_SNAPSHOT)
        yield CallerSnapshot(transaction, _point(row))


async def gathered(pages: AsyncGenerator[bytes], least: int) -> AsyncGenerator[bytes]:
    """Yield pages joined, so that each but the last has `least` bytes."""
    waiting: list[bytes] = []
    size = 0
    async with aclosing(pages):
        async for page in pages:
            waiting.append(page)
            size += len(page)
            if size >= least:
                yield b"".join(waiting)
                waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def _tagged(messages: Rows, documents: Rows) -> list[bytes]:
    return [
        tagged(message[0] or b"", tag_of_row(document[0] or b""))
        for message, document in zip(messages, documents, strict=True)
    ]


def text_of_json(value: bytes, base: str) -> str | None:
    """Return the text of a value as a message of the stream has it (schemas.changes.Values); None if it is not plain."""
    text = _plain_text(value)
    return f"\\x{text}" if text is not None and base == "bytea" else text


def _plain_text(value: bytes) -> str | None:
    if value[:1] == b'"':
        return msgspec.json.decode(value, type=str)
    return None if value[:1] in (b"{", b"[", b"n") else value.decode()


def _point(row: Sequence[bytes | None]) -> SnapshotPoint:
    return SnapshotPoint((row[0] or b"").decode(), int(row[1] or 0))
