"""Operations on files of rows: import and export, both streamed."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Struct

from schemas.database_logins import READER, VIEWER
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement
from workers.management.areas.rows.edit import statement_of
from workers.management.areas.rows.filters import RowFilter, RowSort, filters_sql, order_by, sort_keys
from workers.management.areas.rows.importing import ImportReport, RowImport
from workers.management.areas.rows.listing import chosen_columns
from workers.management.areas.rows.records import record_parser
from workers.management.areas.rows.table import DescribedTable, TableColumn, column_sql, describe_table
from workers.management.areas.sql.cells import csv_lines
from workers.management.areas.sql.messages import ResultColumn, ValueRow
from workers.management.areas.sql.sessions import SessionSpec, application_name, hold_session
from workers.management.areas.sql.stream import RowEncoder, RowStream
from workers.management.interface import argument_limits as limits
from workers.management.interface.backends.database import ROLE_OF_LOGIN
from workers.management.interface.caller import ViewAs, caller_settings
from workers.management.interface.errors import ManagementError, SqlRejected, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext, StreamedResult
from workers.management.interface.rights import Right
from workers.sql.compose import concat, ident, join, raw

_EXPORT_S = 3600.0
_LONGEST_ROW = 64 * 1024 * 1024
_CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "ndjson": "application/x-ndjson",
}
_CONFLICTS = ("error", "ignore", "update")


class ExportRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows to export. `format`: `csv`, `json` (an array) or `ndjson`; the rest as in rows.list."""

    table: str
    schema: str = "public"
    format: Annotated[str, limits.choice("csv", "json", "ndjson")] = "csv"
    columns: list[str] | None = None
    filters: list[RowFilter] = []
    sorts: list[RowSort] = []
    view_as: ViewAs | None = None


class ImportRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A file to import; the body of the request is the file, in UTF-8.

    `format`: `csv` with a header, `json` (an array of objects) or `ndjson`. `on_conflict` with a row of the same key: `error`,
    `ignore`, or `update` it. `skip_errors`: store the others; without it one bad record stores nothing. `preview`: roll back in any
    case. `columns`: only these may be written. Of CSV: `delimiter`, and the field that is NULL.
    """

    table: str
    schema: str = "public"
    format: Annotated[str, limits.choice("csv", "json", "ndjson")] = "csv"
    on_conflict: Annotated[str, limits.choice(*_CONFLICTS)] = "error"
    skip_errors: bool = False
    preview: bool = False
    columns: list[str] | None = None
    delimiter: str = ","
    null_text: str = ""


class _RolledBack(Exception):
    """Ends the transaction of an import that stores nothing."""


async def export(context: OperationContext, arguments: ExportRequest) -> StreamedResult:
    """Stream rows of a table or view as CSV, JSON or NDJSON, in any number. A file that breaks off is incomplete."""
    if arguments.format not in _CONTENT_TYPES:
        raise invalid_arguments("`format` must be csv, json or ndjson")
    table = (await describe_table(context, arguments.schema, arguments.table)).readable()
    columns = chosen_columns(table, arguments.columns)
    if not columns:
        raise invalid_arguments("`columns` must name at least one column")
    reading = _export_statement(table, columns, arguments)
    if arguments.view_as is None:
        login, settings = READER, [("role", ROLE_OF_LOGIN[READER])]
    else:
        login, settings = VIEWER, await caller_settings(context, arguments.view_as)
    limits = [("statement_timeout", str(round(_EXPORT_S * 1000)))]
    name = application_name(context, "")
    spec = SessionSpec(login, [*limits, *settings], True, _EXPORT_S, name, _LONGEST_ROW)
    held = await hold_session(context.database, spec)
    encoder = _encoder_of(arguments.format, [column.name for column in columns])
    try:
        rows = await RowStream.open(
            held, reading.text, reading.params, encoder, context.settings.statement_timeout_s
        )
    except DatabaseError as error:
        raise SqlRejected(error) from None
    except TimeoutError:
        raise ManagementError(504, "timeout", "No row came in time") from None
    return StreamedResult(_CONTENT_TYPES[arguments.format], rows, f"{table.name}.{arguments.format}")


def _export_statement(
    table: DescribedTable, columns: list[TableColumn], arguments: ExportRequest
) -> Statement:
    """Return the statement of an export: texts for CSV, one JSON object a row for the others."""
    sources = [column_sql(column.name) for column in columns]
    order = order_by(sort_keys(table, arguments.sorts)) if arguments.sorts else raw("")
    rest = concat(raw(" from "), table.sql, raw(" as r where "), filters_sql(table, arguments.filters), order)
    if arguments.format == "csv":
        return statement_of(concat(raw("select "), join(", ", sources), rest))
    named = [
        source + raw(" as ") + ident(column.name) for source, column in zip(sources, columns, strict=True)
    ]
    return statement_of(
        concat(
            raw("select pg_catalog.row_to_json(line)::pg_catalog.text from (select "),
            join(", ", named),
            rest,
            raw(") as line"),
        )
    )


class _CsvFile:
    """CSV with a header."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def start(self) -> bytes:
        return csv_lines([self._names])

    def rows(self, rows: list[ValueRow]) -> bytes:
        return csv_lines(rows)

    def end(self) -> bytes:
        return b""


class _JsonLines:
    """JSON objects that the server wrote, one a line; as an array if `is_array`."""

    def __init__(self, *, is_array: bool) -> None:
        self._is_array, self._is_first = is_array, True

    def start(self) -> bytes:
        return b"[" if self._is_array else b""

    def rows(self, rows: list[ValueRow]) -> bytes:
        lines = []
        for (value,) in rows:
            if not isinstance(value, bytes):
                raise ValueError("a row is too long")
            lines.append(value.replace(b"\n", b" "))  # line ends of JSON stand between its tokens only
        if not self._is_array:
            return b"\n".join(lines) + b"\n"
        before, self._is_first = (b"" if self._is_first else b",\n"), False
        return before + b",\n".join(lines)

    def end(self) -> bytes:
        return b"]\n" if self._is_array else b""


def _encoder_of(format_name: str, names: Sequence[str]) -> Callable[[list[ResultColumn]], RowEncoder]:
    if format_name == "csv":
        return lambda _: _CsvFile(names)
    return lambda _: _JsonLines(is_array=format_name == "json")


async def import_rows(context: OperationContext, arguments: ImportRequest) -> ImportReport:
    """Store the records of a file: all of them, or with `skip_errors` those without an error. Errors name their lines.

    A preview runs the whole import and rolls it back; only sequences move on, as after any rollback in Postgres.
    """
    if context.upload is None:
        raise invalid_arguments("The body of the request is the file; the arguments are in the query")
    if arguments.on_conflict not in _CONFLICTS:
        raise invalid_arguments(f"`on_conflict` must be one of {', '.join(_CONFLICTS)}")
    if len(arguments.delimiter) != 1 or arguments.delimiter in '"\r\n':
        raise invalid_arguments("`delimiter` must be one character, and no quote")
    table = await describe_table(context, arguments.schema, arguments.table)
    table.check_event("insert")
    if arguments.on_conflict == "update":
        table.check_key()
    chosen_columns(table, arguments.columns)
    json_columns = frozenset(column.name for column in table.columns if column.category == "json")
    options: dict[str, Any] = {"delimiter": arguments.delimiter, "null_text": arguments.null_text}
    parser = record_parser(arguments.format, options, json_columns)
    if parser is None:
        raise invalid_arguments("`format` must be csv, json or ndjson")
    report = ImportReport()
    try:
        async with context.database.transaction(
            timeout_s=context.settings.statement_timeout_s
        ) as transaction:
            importing = RowImport(transaction, table, arguments.on_conflict, arguments.columns)
            report = importing.report
            await importing.run(context.upload, parser, skips=arguments.skip_errors)
            if arguments.preview or (report.failed and not arguments.skip_errors):
                raise _RolledBack
        report.is_stored = True
    except _RolledBack:
        pass
    report.errors.sort(key=lambda error: error.line)
    if not arguments.preview:
        context.after = {"stored": report.is_stored, "rows": report.rows, "failed": report.failed}
        report.first = []
    return report


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "rows.export",
            "Export rows as a file",
            ExportRequest,
            dict[str, Any],
            Right.READER,
            export,
            streams=tuple(_CONTENT_TYPES.values()),
        ),
        Operation(
            "rows.import",
            "Import rows from a file",
            ImportRequest,
            ImportReport,
            Right.DEVELOPER,
            import_rows,
            changes=True,
            takes_body=True,
        ),
    ]
