"""Queries of the official log endpoints, as filters of `logs.search`. Pure.

Programs send SQL of one form, for a source of lines (a table, or a `source_name` of the table `logs`):

    select id, timestamp, event_message, response.status_code from edge_logs
    cross join unnest(metadata) as m ... order by timestamp desc limit 100

    select timestamp, event_message from logs where source_name = 'auth_logs' order by timestamp desc limit 100

Lines of the platform are not in a database, so any other SQL is rejected with a hint.
"""

import re
from datetime import datetime
from typing import Any

from msgspec import Struct

from schemas.numbers import clamp_whole_number
from workers.management.interface.errors import ManagementError
from workers.management.operations.logs import LogLineView

_REQUEST = "RequestServed"
_SOURCES: dict[str, dict[str, str]] = {
    "logs": {},
    "edge_logs": {"kind": _REQUEST},
    "postgres_logs": {"kind": "StatementFailed"},
    "postgrest_logs": {"area": "rest"},
    "auth_logs": {"area": "auth"},
    "storage_logs": {"area": "storage"},
    "realtime_logs": {"area": "realtime"},
    "function_edge_logs": {"kind": _REQUEST, "area": "functions"},
    "function_logs": {"kind": "function log"},
}
_USUAL_LINES, _MOST_LINES, _LONGEST_SQL = 100, 1000, 10_000
_NAME = r"[a-z_][a-z0-9_.]*"
_COLUMN = re.compile(rf"({_NAME}|\*)(?: as ([a-z_][a-z0-9_]*))?")
_QUERY = re.compile(
    rf"select (?P<columns>[a-z0-9_.,* ]+) from (?P<table>[a-z_]+)(?: as [a-z_]+)?"  # noqa: S608 - a pattern, no statement
    rf"(?: (?:cross|left) join unnest ?\( ?{_NAME} ?\)(?: as)? [a-z_]+(?: on true)?)*"
    r"(?: where source_name = '(?P<source>[a-z_]+)')?"
    rf"(?: order by {_NAME} desc)?(?: limit (?P<limit>[0-9]{{1,6}}))? ?;?"
)


class LogQuery(Struct, frozen=True):
    """Filters of `logs.search`, most lines, and the columns to return by their names (`*`: all)."""

    filters: dict[str, str]
    limit: int
    columns: dict[str, str]


def parse_log_query(sql: str) -> LogQuery:
    """Return the filters of a query; an empty text is the latest lines of all sources. Raises: ManagementError (400)."""
    if not sql.strip():
        return LogQuery({}, _USUAL_LINES, {"*": "*"})
    query = _QUERY.fullmatch(" ".join(sql.lower().split())) if len(sql) <= _LONGEST_SQL else None
    if query is None:
        raise _rejected("This form of SQL is not understood")
    table, source = query["table"], query["source"]
    name = source if table == "logs" and source else table
    if name not in _SOURCES or (source and table != "logs"):
        raise _rejected(f"There is no source {name[:80]!r}")
    columns = {}
    for text in query["columns"].split(","):
        column = _COLUMN.fullmatch(text.strip())
        if column is None:
            raise _rejected(f"The column {text.strip()[:80]!r} is not understood")
        path = column[1].rpartition(".")[2]
        columns[column[2] or path] = path
    limit = clamp_whole_number(query["limit"] or "", most=_MOST_LINES) or _USUAL_LINES
    return LogQuery(dict(_SOURCES[name]), limit, columns)


def official_line(line: LogLineView, query: LogQuery, *, in_microseconds: bool) -> dict[str, Any]:
    """Return the columns of a line under their official names; one that lines do not have is null.

    `in_microseconds`: `timestamp` as microseconds since 1970, else as RFC 3339.
    """
    at = datetime.fromisoformat(line.at)
    method, _, path = line.text.partition(" ") if line.kind == _REQUEST else ("", "", "")
    row = {
        **line.fields,
        "id": line.id,
        "timestamp": round(at.timestamp() * 1_000_000) if in_microseconds else line.at,
        "event_message": line.text,
        "identifier": line.process,
        "level": line.level,
        "error_severity": line.level.upper(),
        "source_name": line.area,
        "method": method or None,
        "path": path or None,
        "status_code": line.status or None,
        "function_id": line.function or None,
        "request_id": line.request_id or None,
        "execution_time_ms": line.duration_ms or None,
    }
    if "*" in query.columns:
        return row
    return {name: row.get(path) for name, path in query.columns.items()}


def _rejected(reason: str) -> ManagementError:
    return ManagementError(
        400,
        "unsupported_log_query",
        f"{reason}: log lines are not in a database",
        hint=f"Send columns, one source ({', '.join(_SOURCES)}), `order by timestamp desc` and `limit`; "
        "for filters POST /management/v1/operations/logs.search.",
    )
