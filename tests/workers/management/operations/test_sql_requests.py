"""Requests of SQL and their responses, in tables like those of pg_net."""

from tests.workers.management.conftest import Client

_TABLES = r"""
create schema net;
create table net._http_response (
  id bigint, status_code int, content_type text, headers jsonb, content text, timed_out boolean, error_msg text,
  created timestamptz not null default now());
create table net.http_request_queue (
  id bigint, method text, url text, headers jsonb, body bytea, timeout_milliseconds int);
insert into net.http_request_queue
select id, 'POST', 'http://example.test/', '{"Authorization": "Bearer top secret"}', body, 5000
from (values (1, '\x61ff62'::bytea), (2, convert_to('müde' || repeat('x', 20000), 'UTF8')), (3, null)) as queued (id, body);
insert into net._http_response (id, status_code, headers, content)
values (1, 200, '{"Set-Cookie": "session=top secret", "Content-Type": "text/plain"}', 'hello');
"""


async def test_responses_are_shown_without_the_cookies_that_they_set(owner: Client) -> None:
    await owner.run("sql.run", sql=_TABLES, read_only=False)
    try:
        [row] = (await owner.run("jobs.responses"))["rows"]
    finally:
        await owner.run("sql.run", sql="drop schema net cascade", read_only=False)

    assert row["headers"] == {"Set-Cookie": "(not shown)", "Content-Type": "text/plain"}
    assert row["body"] == "hello"


async def test_bodies_of_any_bytes_are_shown(owner: Client) -> None:
    await owner.run("sql.run", sql=_TABLES, read_only=False)
    try:
        rows = (await owner.run("jobs.requests"))["rows"]
    finally:
        await owner.run("sql.run", sql="drop schema net cascade", read_only=False)

    assert [row["body"] for row in rows] == ["a\N{REPLACEMENT CHARACTER}b", "müde" + "x" * 9996, None]
    assert rows[0]["headers"] == {"Authorization": "(not shown)"}
