"""Requests of SQL and their responses, in tables like those of pg_net."""

from tests.workers.management.conftest import Client

_TABLES = """
create schema net;
create table net._http_response (
  id bigint, status_code int, content_type text, headers jsonb, content text, timed_out boolean, error_msg text,
  created timestamptz not null default now());
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
