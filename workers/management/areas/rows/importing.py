"""Imports records into a table, in batches of one transaction, with errors by line.

A batch is one INSERT under a savepoint. If it fails, it is halved until the record that fails stands alone, so its line is known
after about log2(batch) more statements. With `skip_errors` the other records stay; without, the whole import is rolled back, after
the errors of the file were gathered up to `MAX_ERRORS`.
"""

from collections.abc import AsyncIterator

from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.management.areas.rows.records import (
    ImportedRecord,
    RecordError,
    RecordParser,
    TextDecoder,
    UnreadableFile,
)
from workers.management.areas.rows.table import DescribedTable
from workers.management.interface.errors import invalid_arguments
from workers.sql.compose import Sql, concat, ident, join, param, raw, render

MAX_ERRORS = 100
_BATCH, _BATCH_SIZE = 500, 1024 * 1024
_SHOWN = 20
_SAVE, _BACK, _FREE = (
    Statement(text) for text in ("savepoint batch", "rollback to savepoint batch", "release savepoint batch")
)

_IMMEDIATE = Statement("set constraints all immediate")
"""Deferred constraints are checked by each statement, so that their errors have a line."""


class LineError(Struct, frozen=True):
    """A record that was not stored: its line, the SQLSTATE (`format` if it could not be read) and why."""

    line: int
    code: str
    message: str


class ImportReport(Struct):
    """What an import did. `rows`: records that were stored, or would be; `total`: records in the file.

    `is_stored` is false for a preview and for an import that was rolled back. `first` are the first records as they were read.
    """

    is_stored: bool = False
    total: int = 0
    rows: int = 0
    failed: int = 0
    errors: list[LineError] = []
    columns: list[str] = []
    first: list[str] = []


class RowImport:
    """One import into a table; `run` reads a file to its end."""

    def __init__(
        self, transaction: Transaction, table: DescribedTable, on_conflict: str, columns: list[str] | None
    ) -> None:
        self._transaction, self._table = transaction, table
        self._on_conflict = on_conflict
        self._allowed = {column.name for column in table.columns} if columns is None else set(columns)
        self._batch: list[ImportedRecord] = []
        self._size = 0
        self._skips = False
        self.report = ImportReport(errors=[], columns=[], first=[])

    @property
    def is_full(self) -> bool:
        """Whether the most errors that a report holds were found, so that reading stops unless bad records are skipped."""
        return self.report.failed >= MAX_ERRORS

    async def run(self, upload: AsyncIterator[bytes], parser: RecordParser, *, skips: bool) -> None:
        """Read the file and store its records. Raises: DatabaseError, Disconnected."""
        decoder, self._skips = TextDecoder(), skips
        await self._transaction.run(_IMMEDIATE)
        try:
            async for piece in upload:
                await self._take(parser, decoder.decode(piece, is_last=False), is_last=False)
                if self.is_full and not skips:
                    return
            await self._take(parser, decoder.decode(b"", is_last=True), is_last=True)
        except UnreadableFile as error:
            self._error(error.line, "format", error.message)
        await self._flush()

    async def _take(self, parser: RecordParser, text: str, *, is_last: bool) -> None:
        for record in parser.feed(text, is_last=is_last):
            self.report.total += 1
            if isinstance(record, RecordError):
                self._error(record.line, "format", record.message)
                continue
            if len(self.report.first) < _SHOWN:
                self.report.first.append(record.text[:2000])
            if unknown := [name for name in record.names if name not in self._allowed]:
                self._error(record.line, "format", f"{unknown[0][:100]!r} is no column of the table")
                continue
            if self._batch and (
                self._batch[0].names != record.names or len(self._batch) == _BATCH or self._size > _BATCH_SIZE
            ):
                await self._flush()
            self._batch.append(record)
            self._size += len(record.text)

    async def _flush(self) -> None:
        batch, self._batch, self._size = self._batch, [], 0
        if batch:
            self.report.columns += [name for name in batch[0].names if name not in self.report.columns]
            await self._store(batch)

    async def _store(self, batch: list[ImportedRecord]) -> None:
        """Store records; halve them to find those that fail."""
        inserting = insert_records(self._table, batch, self._on_conflict)
        try:
            results = await self._transaction.run(_SAVE, inserting, _FREE)
        except DatabaseError as error:
            await self._transaction.run(_BACK, _FREE)
            if len(batch) == 1:
                self._error(batch[0].line, error.code, _message(error))
            elif self._skips or not self.is_full:
                middle = len(batch) // 2
                await self._store(batch[:middle])
                await self._store(batch[middle:])
            return
        self.report.rows += len(results[-2])

    def _error(self, line: int, code: str, message: str) -> None:
        self.report.failed += 1
        if len(self.report.errors) < MAX_ERRORS:
            self.report.errors.append(LineError(line, code, message[:1000]))


def _message(error: DatabaseError) -> str:
    return f"{error.message}: {error.details}" if error.details else error.message


def insert_records(table: DescribedTable, batch: list[ImportedRecord], on_conflict: str) -> Statement:
    """Return the INSERT of records with the same columns; it returns one row for each that was stored."""
    names = batch[0].names
    if not names:
        raise invalid_arguments("A record has no column")
    columns = join(", ", [ident(name) for name in names])
    records = "[" + ",".join(record.text for record in batch) + "]"
    sql = concat(
        raw("insert into "),
        table.sql,
        raw(" ("),
        columns,
        raw(") select "),
        columns,
        raw(" from pg_catalog.json_populate_recordset(null::"),
        table.sql,
        raw(", "),
        param(records),
        raw("::pg_catalog.json)"),
        _conflict(table, names, on_conflict),
        raw(" returning 1"),
    )
    text, params = render(sql)
    return statement(text, *[value for value in params if isinstance(value, bytes)])


def _conflict(table: DescribedTable, names: tuple[str, ...], on_conflict: str) -> Sql:
    if on_conflict == "error":
        return raw("")
    if on_conflict == "ignore":
        return raw(" on conflict do nothing")
    key = join(", ", [ident(name) for name in table.key])
    changes = [ident(name) + raw(" = excluded.") + ident(name) for name in names if name not in table.key]
    if not changes:
        return concat(raw(" on conflict ("), key, raw(") do nothing"))
    return concat(raw(" on conflict ("), key, raw(") do update set "), join(", ", changes))
