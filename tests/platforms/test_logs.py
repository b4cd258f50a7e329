"""Log lines of a whole platform: one request through gateway, pool, SQL and function; secrets in no line; the command."""

import json
import time
from collections.abc import Callable, Iterator

import pytest

from broker.logs import search
from broker.logs.query import LogFilter
from broker.logs.store import FOLDER
from schemas.logs import LogRecord
from tests.platform import Platform, platform
from tests.platforms.conftest import token
from tests.platforms.webhook_receiver import Receiver, receiver

_FUNCTION = """
Deno.serve(async (request) => {
  console.log("called with", new URL(request.url).pathname)
  console.error('{"level":"error","area":"auth","request_id":"forged"}')
  const headers = {
    apikey: Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!,
    "x-request-id": request.headers.get("x-request-id")!,
    "content-type": "application/json",
  }
  const url = Deno.env.get("SUPABASE_URL") + "/rest/v1/rpc/fail"
  const answer = await fetch(url, { method: "POST", headers, body: '{"secret": "swordfish"}' })
  return new Response(await answer.text(), { status: 502 })
})
"""
_SQL = """
create function public.fail(secret text) returns int language plpgsql as $$
begin raise exception 'no %', secret using errcode = '23514', detail = secret; end $$;
create function public.slow() returns text language sql as $$ select pg_catalog.pg_sleep(0.3)::text $$;
create table public.shown (id int);
"""


@pytest.fixture(scope="module")
def target() -> Iterator[Receiver]:
    """A receiver of log lines."""
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def logged(target: Receiver) -> Iterator[Platform]:
    """A platform with a function that calls a function of the database, which fails; its lines go to a receiver, too."""
    drains = {"far": {"url": target.url("/lines"), "level": "debug"}}
    settings = {"HEADWATER_LOG_STORE_SLOW_STATEMENT": "0.2", "HEADWATER_LOGS_DRAIN": json.dumps(drains)}
    with platform(environment=settings) as one:
        source = one.data.parent / "supabase" / "functions" / "through" / "index.ts"
        source.parent.mkdir(parents=True)
        source.write_text(_FUNCTION)
        one.psql(_SQL)
        one.wait_for_catalog("shown")
        yield one


def _sent(target: Receiver) -> list[dict[str, object]]:
    return [json.loads(line) for event in target.at("/lines") for line in event.body.splitlines()]


def lines_when(
    logged: Platform, is_there: Callable[[list[LogRecord]], bool], query: LogFilter
) -> list[LogRecord]:
    """Return matching lines, the oldest first, once the store has what is looked for."""
    deadline = time.monotonic() + 60
    while True:
        page = search.search(logged.data / FOLDER, query, 1000)
        records = [line.record for line in page.lines][::-1]
        if is_there(records):
            return records
        assert time.monotonic() < deadline, records
        time.sleep(0.1)


def test_one_request_is_seen_through_all_parts(logged: Platform, target: Receiver) -> None:
    deadline = time.monotonic() + 60
    while logged.get("/functions/v1/through", {"x-request-id": "through-1"})[0] in (404, 503):
        assert time.monotonic() < deadline
        time.sleep(0.2)

    expected = {"RequestAnswered", "StatementFailed", "function log"}
    served = {("functions", 502), ("rest", 400)}
    lines = lines_when(
        logged,
        lambda records: (
            expected <= {line.kind for line in records}
            and served <= {(line.area, line.status) for line in records if line.kind == "RequestServed"}
            and any(line.text.startswith("called with") for line in records)
        ),
        LogFilter(request_id="through-1"),
    )
    deadline = time.monotonic() + 60
    while not expected <= {line["kind"] for line in _sent(target) if line.get("request_id") == "through-1"}:
        assert time.monotonic() < deadline, _sent(target)
        time.sleep(0.2)  # between two looks: lines come in several requests
    assert "log drains: 1 sends" in logged.command("doctor").stdout
    printed = logged.command("logs", "--request-id", "through-1", "--json")

    [failed] = [line for line in lines if line.kind == "StatementFailed"]
    assert failed.fields["sqlstate"] == "23514"
    assert {line.process for line in lines} == {"edges", "pools", "functions"}
    assert [json.loads(line)["kind"] for line in printed.stdout.splitlines()] == [
        line.record.kind for line in search.lines_of_request(logged.data / FOLDER, "through-1").lines
    ]
    assert search.search(logged.data / FOLDER, LogFilter(request_id="forged"), 10).lines == []


def test_slow_statements_have_their_request(logged: Platform) -> None:
    assert logged.get("/rest/v1/rpc/slow", {"x-request-id": "slow-1"})[0] == 200

    lines = lines_when(
        logged,
        lambda records: "TransactionSlow" in {line.kind for line in records},
        LogFilter(request_id="slow-1"),
    )

    [slow] = [line for line in lines if line.kind == "TransactionSlow"]
    assert slow.fields["duration_ms"] >= 200
    assert "slow" in slow.fields["statement"]


def test_no_line_shows_a_secret(logged: Platform) -> None:
    person = token(logged, sub="7b7bd24e-1f0a-4dd6-9a5b-3c8d0e0f7f10")
    key = logged.values["SERVICE_ROLE_KEY"]
    for path, headers in (
        (f"/rest/v1/shown?apikey={key}&email=eq.ada@example.com", {}),
        ("/rest/v1/shown?id=eq.swordfish", {"authorization": f"Bearer {person}", "cookie": "swordfish"}),
        ("/auth/v1/settings?token=swordfish&type=signup&email=ada@example.com", {}),
        ("/functions/v1/none/swordfish", {}),
        ("/storage/v1/upload/resumable/swordfish", {"authorization": f"Bearer {person}"}),
        ("/nowhere?password=swordfish", {}),
    ):
        logged.get(path, {"x-request-id": "secret-1", **headers})
    logged.get("/rest/v1/rpc/fail?secret=swordfish", {"x-request-id": "secret-1"})
    logged.get("/rest/v1/none", {"x-request-id": "secret-2"})
    lines = lines_when(
        logged,
        lambda records: len([line for line in records if line.kind == "RequestServed"]) >= 7,
        LogFilter(request_id="secret-1"),
    )
    everything = [line.record for line in search.search(logged.data / FOLDER, LogFilter(), 5000).lines]

    assert "7b7bd24e-1f0a-4dd6-9a5b-3c8d0e0f7f10" in {line.user for line in lines}
    text = repr(everything)
    passwords = json.loads((logged.data / "passwords.json").read_text()).values()
    for secret in ("swordfish", "ada@example.com", person, key, logged.values["ANON_KEY"], *passwords):
        assert secret not in text, secret[:12]


def test_the_store_is_private_and_the_doctor_looks_at_it(logged: Platform) -> None:
    lines_when(logged, lambda records: len(records) > 0, LogFilter())
    doctor = logged.command("doctor", "--output", "json")

    for path in (logged.data / FOLDER).iterdir():
        assert path.parent.stat().st_mode & 0o077 == 0
        assert path.name.split(".")[-1] in ("lock", "sqlite", "sqlite-wal", "sqlite-shm")
    assert "lines" in doctor.stdout


def test_the_store_is_searched_after_a_stop() -> None:
    with platform() as one:
        one.get("/rest/v1/", {"x-request-id": "before-1"})
        lines_when(one, lambda records: len(records) == 2, LogFilter(request_id="before-1"))
        stopped = one.command("stop")
        assert stopped.returncode == 0, stopped.stderr

        shown = one.command("logs", "--request-id", "before-1", "--json")

        kinds = {json.loads(line)["kind"] for line in shown.stdout.splitlines()}
        assert kinds == {"RequestServed", "RequestAnswered"}
