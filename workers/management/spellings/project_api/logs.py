"""Endpoints on log lines: `logs.all` with a table for each source, and `logs` with one table."""

from schemas.http import Response
from workers.management.operations.logs import LogSearchResult
from workers.management.spellings.project_api.call import ProjectCall, ProjectEndpoint, answered
from workers.management.spellings.project_api.log_query import official_line, parse_log_query


async def all_logs(call: ProjectCall) -> Response:
    """Return lines; times as microseconds."""
    return await _lines(call, in_microseconds=True)


async def unified_logs(call: ProjectCall) -> Response:
    """Return lines; times as RFC 3339."""
    return await _lines(call, in_microseconds=False)


async def _lines(call: ProjectCall, *, in_microseconds: bool) -> Response:
    query = parse_log_query(call.first("sql"))
    page: LogSearchResult = await call.operate(
        "logs.search",
        **query.filters,
        since=call.first("iso_timestamp_start"),
        until=call.first("iso_timestamp_end"),
        limit=query.limit,
    )
    rows = [official_line(line, query, in_microseconds=in_microseconds) for line in page.lines]
    return answered({"result": rows, "error": None})


_LOGS = "/v1/projects/{ref}/analytics/endpoints"
ENDPOINTS = (
    ProjectEndpoint("GET", f"{_LOGS}/logs.all", all_logs),
    ProjectEndpoint("GET", f"{_LOGS}/logs", unified_logs),
)
