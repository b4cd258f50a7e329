"""SQL of the official log endpoints: which forms are understood, and what a line looks like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.management.interface.errors import ManagementError
from workers.management.operations.logs import LogLineView
from workers.management.spellings.project_api.log_query import official_line, parse_log_query

_API = """
select id, identifier, timestamp, event_message, request.method, request.path, response.status_code
from edge_logs
  cross join unnest(metadata) as m
  cross join unnest(m.request) as request
  cross join unnest(m.response) as response
order by timestamp desc
limit 50
"""
_LINE = LogLineView(
    "1700000000123.7",
    "2023-11-14T22:13:20.123Z",
    "error",
    "gateway",
    "RequestServed",
    "GET /rest/v1/items",
    area="rest",
    status=500,
    request_id="r-1",
    fields={"bytes": 17},
)


@pytest.mark.parametrize(
    ("sql", "filters", "limit", "names"),
    [
        ("", {}, 100, ["*"]),
        (
            _API,
            {"kind": "RequestServed"},
            50,
            ["id", "identifier", "timestamp", "event_message", "method", "path", "status_code"],
        ),
        (
            "select identifier, postgres_logs.timestamp, id, event_message, parsed.error_severity from postgres_logs"
            " cross join unnest(metadata) as m cross join unnest(m.parsed) as parsed order by timestamp desc limit 7;",
            {"kind": "StatementFailed"},
            7,
            ["identifier", "timestamp", "id", "event_message", "error_severity"],
        ),
        (
            "SELECT timestamp, event_message AS message FROM logs WHERE source_name = 'auth_logs' ORDER BY timestamp DESC LIMIT 999999",
            {"area": "auth"},
            1000,
            ["timestamp", "message"],
        ),
        ("select * from function_logs", {"kind": "function log"}, 100, ["*"]),
    ],
)
def test_queries_of_programs_are_understood(
    sql: str, filters: dict[str, str], limit: int, names: list[str]
) -> None:
    query = parse_log_query(sql)

    assert (query.filters, query.limit, list(query.columns)) == (filters, limit, names)


@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "select id from auth.users",
        "select id from nothing_logs",
        "select id from edge_logs where id = '1'",
        "select id from edge_logs where source_name = 'auth_logs'",
        "select count(*) from edge_logs",
        "select id, , timestamp from edge_logs",
        "select id from edge_logs union select id from auth_logs",
        "select id from edge_logs; select 1",
        "select " + "a, " * 5000 + "b from edge_logs",
    ],
)
def test_other_sql_is_rejected_with_a_hint(sql: str) -> None:
    with pytest.raises(ManagementError) as rejected:
        parse_log_query(sql)

    assert (rejected.value.status, rejected.value.code) == (400, "unsupported_log_query")
    assert "logs.search" in str(rejected.value.body()["hint"])


@given(st.text(max_size=300))
def test_any_text_is_a_query_or_rejected(text: str) -> None:
    for sql in (text, f"select {text} from edge_logs", f"select id from {text}"):
        try:
            query = parse_log_query(sql)
        except ManagementError:
            continue
        assert 1 <= query.limit <= 1000


def test_a_line_has_the_columns_of_the_query() -> None:
    row = official_line(_LINE, parse_log_query(_API), in_microseconds=True)

    assert row == {
        "id": "1700000000123.7",
        "identifier": "gateway",
        "timestamp": 1_700_000_000_123_000,
        "event_message": "GET /rest/v1/items",
        "method": "GET",
        "path": "/rest/v1/items",
        "status_code": 500,
    }
    whole = official_line(_LINE, parse_log_query(""), in_microseconds=False)
    assert (whole["timestamp"], whole["bytes"], whole["level"]) == (_LINE.at, 17, "error")
    other = official_line(_LINE, parse_log_query("select nothing from edge_logs"), in_microseconds=True)
    assert other == {"nothing": None}
