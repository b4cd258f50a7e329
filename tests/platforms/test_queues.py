"""Queues of a whole platform: a function consumes one, whatever is killed; clients use one under row policies."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Iterator

import asyncpg
import httpx
import pytest

from schemas.database_logins import SESSION_LOGINS, password_variables
from schemas.settings.tree import Settings
from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of, token
from workers.sql.files import read_statements

FUNCTION = """
const headers = { apikey: Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!, "content-type": "application/json" };
Deno.serve(async (request) => {
  const { messages } = await request.json();
  if (messages.some((each) => each.message.ends)) Deno.exit(3);
  const failed = messages.filter((each) => each.message.fails);
  const done = messages.filter((each) => !each.message.fails).map(({ message, read_ct }) => ({ n: message.n, read_ct }));
  const answer = await fetch(`${Deno.env.get("SUPABASE_URL")}/rest/v1/done`, {
    method: "POST", headers: { ...headers, authorization: `Bearer ${headers.apikey}` }, body: JSON.stringify(done),
  });
  if (!answer.ok) return new Response(await answer.text(), { status: 500 });
  return Response.json({ batchItemFailures: failed.map(({ msg_id }) => ({ itemIdentifier: String(msg_id) })) });
});
"""
CONFIG = """
[api]
schemas = ["public", "pgmq_public"]

[functions.work.queue]
queue = "mail"
batch = 5
concurrency = 2
visibility = "5s"
retries = 3
backoff = "100ms"
dead_letter = "mail_dead"
"""
SCHEMA = """
create extension pgmq;
create table public.done (n int, read_ct int);
grant insert on public.done to service_role;
select pgmq.create('mail');
select pgmq.create('mail_dead');
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("queues") / "supabase"
    (folder / "functions" / "work").mkdir(parents=True)
    (folder / "functions" / "work" / "index.ts").write_text(FUNCTION)
    (folder / "config.toml").write_text(CONFIG)
    with platform("--project", str(folder.parent)) as running:
        problem = "work does not consume mail: there is no queue mail"
        wait_for(lambda: problem in running.command("doctor").stdout)
        running.psql(SCHEMA)
        yield running


def asked(server: Platform, query: str) -> str:
    return server.command("psql", "-Atc", query).stdout.strip()


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)  # between two questions: nothing announces what is waited for


def test_every_message_is_done_over_kills_and_those_that_cannot_be_are_set_aside_and_sent_again(
    server: Platform,
):
    send = "select pgmq.send_batch('mail', array(select jsonb_build_object('n', n) from generate_series({}, {}) n))"
    server.psql(send.format(1, 300))
    server.psql(
        'select pgmq.send_batch(\'mail\', array[\'{"n": 1001, "fails": true}\', \'{"n": 1002, "ends": true}\']::jsonb[])'
    )
    wait_for(lambda: asked(server, "select count(*) > 20 from public.done") == "t")
    os.kill(pid_of(server, "pools"), signal.SIGKILL)
    server.psql(send.format(301, 600))
    wait_for(lambda: asked(server, "select count(*) from pgmq.q_mail") == "0")

    assert asked(server, "select string_agg(message ->> 'n', ' ' order by msg_id) from pgmq.q_mail_dead") in (
        "1001 1002",
        "1002 1001",
    )
    assert asked(server, "select count(distinct n) from public.done") == "600"
    notes = asked(
        server, "select headers -> 'dead_letter' ->> 'error' from pgmq.q_mail_dead order by message -> 'n'"
    )
    assert notes.splitlines()[0] == "named in batchItemFailures"
    wait_for(lambda: "2 set aside" in server.command("queues", "list").stdout)
    server.psql("update pgmq.q_mail_dead set message = message - 'fails' - 'ends'")
    assert server.command("queues", "redrive", "mail").stdout == "2 are sent again\n"
    wait_for(lambda: asked(server, "select count(*) from public.done where n > 1000") == "2")


def test_a_paused_queue_is_drained_by_command(server: Platform):
    for command in ("pause", "drain", "resume"):
        assert server.command("queues", command, "mail").returncode == 0
    missing = server.command("queues", "pause", "missing")
    assert (missing.returncode, "missing" in missing.stderr) == (1, True)
    assert server.command("queues", "pause", "mail").returncode == 0
    wait_for(lambda: "the consumer of mail is paused" in server.command("doctor").stdout)


def test_clients_use_queues_as_far_as_row_policies_allow(server: Platform):
    server.psql("select pgmq.create('asks')")
    assert "asks" in server.command("queues", "expose").stdout
    server.psql(
        "create policy sends on pgmq.q_asks for insert to authenticated with check (message ->> 'by' = auth.uid()::text);"
        "create policy sees on pgmq.q_asks for select to authenticated using (message ->> 'by' = auth.uid()::text);"
        "create policy takes on pgmq.q_asks for update to authenticated using (message ->> 'by' = auth.uid()::text);"
        "create policy ends on pgmq.q_asks for delete to authenticated using (message ->> 'by' = auth.uid()::text)"
    )
    ada, bob = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"

    def call(user: str, name: str, **arguments: object) -> httpx.Response:
        key = server.values["ANON_KEY"]
        headers = {
            "apikey": key,
            "authorization": f"Bearer {token(server, sub=user, role='authenticated') if user else key}",
            "content-profile": "pgmq_public",
        }
        return httpx.post(f"{server.url}/rest/v1/rpc/{name}", json=arguments, headers=headers)

    assert call(ada, "send", queue_name="asks", message={"by": ada}).json() == [1]
    assert call(
        ada, "send_batch", queue_name="asks", messages=[{"by": ada}, {"by": ada}], sleep_seconds=0
    ).json() == [2, 3]
    assert call(ada, "send", queue_name="asks", message={"by": bob}).status_code == 403
    assert call("", "send", queue_name="asks", message={"by": ada}).status_code == 401
    assert call(bob, "read", queue_name="asks", sleep_seconds=30, n=5).json() == []
    assert call(bob, "delete", queue_name="asks", message_id=1).json() is False
    taken = call(ada, "read", queue_name="asks", sleep_seconds=30, n=2).json()
    assert [(row["msg_id"], row["message"], row["read_ct"]) for row in taken] == [
        (1, {"by": ada}, 1),
        (2, {"by": ada}, 1),
    ]
    assert call(ada, "delete", queue_name="asks", message_id=1).json() is True
    assert [row["msg_id"] for row in call(ada, "pop", queue_name="asks").json()] == [3]
    assert (
        call(ada, "archive", queue_name="asks", message_id=2).status_code == 403
    )  # no policy on the archive


async def test_an_idle_consumer_does_not_keep_a_project_awake(server: Platform):
    password = json.loads((server.data / "passwords.json").read_text())["database"]
    place = server.values["DB_URL"].rpartition("@")[2]
    connection = await asyncpg.connect(f"postgresql://supabase_admin:{password}@{place}")
    own = [*password_variables(Settings()), *SESSION_LOGINS, "supabase_admin"]
    try:
        consumers = "select from pg_stat_activity where starts_with(usename, 'headwater_job_queue_')"
        async with asyncio.timeout(60):
            while not await connection.fetch(consumers):
                await asyncio.sleep(0.1)  # between two questions: nothing announces a session
        use = await connection.fetchrow(read_statements("workers", "database_use.sql")["use"], own)
    finally:
        await connection.close()

    assert use is not None
    assert use["sessions"] == 0
