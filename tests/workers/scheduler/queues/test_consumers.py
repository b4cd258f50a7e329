"""Consumers of queues against a real database and broker; the functions are an answer of the test's own."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import FUNCTIONS
from schemas.caller import ServiceCaller
from schemas.http import Request, Response
from schemas.settings.functions import FunctionQueue, FunctionSettings
from schemas.settings.tree import Settings
from tests.workers.scheduler.scheduler_pool import SchedulerPool
from workers.scheduler.pool import SchedulerCandidate

Begin = Callable[[Settings], SchedulerCandidate]


class Consumer:
    """The functions of a test: what they were given, and what they answer."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer: Callable[[list[dict[str, Any]]], Awaitable[Response]] = self.succeed

    async def succeed(self, messages: list[dict[str, Any]]) -> Response:
        return Response(200)

    @property
    def given(self) -> list[dict[str, Any]]:
        return [message for request in self.requests for message in json.loads(request.body)["messages"]]


@pytest.fixture
async def consumer(connection: NatsConnection) -> AsyncIterator[Consumer]:
    one = Consumer()

    async def answer(request: Request, body: RequestBody) -> Response:
        if request.path == "/_internal/functions":
            return Response(200, body=b"[]")
        one.requests.append(request)
        return await one.answer(json.loads(request.body)["messages"])

    serving = await serve(connection, FUNCTIONS, answer, concurrency=16, queue=16)
    yield one
    await serving.stop()


@pytest.fixture
async def queues(project: asyncpg.Connection) -> asyncpg.Connection:
    """Role postgres with the queues `mail` and `mail_dead`."""
    await project.execute(
        "create extension pgmq; select pgmq.create('mail'); select pgmq.create('mail_dead')"
    )
    return project


def consuming(**options: Any) -> Settings:
    return Settings(
        functions={
            "send": FunctionSettings(queue=FunctionQueue(**{"queue": "mail", "backoff": "0s", **options}))
        }
    )


async def sent(queues: asyncpg.Connection, count: int) -> None:
    await queues.execute(
        "select pgmq.send_batch('mail', array(select jsonb_build_object('n', n) from generate_series(1, $1::int) n))",
        count,
    )


async def test_messages_are_given_in_batches_and_a_failed_one_is_named_tried_again_and_set_aside(
    scheduler_pool: SchedulerPool, queues: asyncpg.Connection, consumer: Consumer, begin: Begin
):
    async def fail_two(messages: list[dict[str, Any]]) -> Response:
        failures = [{"itemIdentifier": str(each["msg_id"])} for each in messages if each["message"]["n"] == 2]
        return Response(200, body=msgspec.json.encode({"batchItemFailures": failures}))

    consumer.answer = fail_two
    await queues.execute("select pgmq.send('mail', '{\"n\": 0}', '{\"trace\": \"1\"}'::jsonb)")
    await sent(queues, 24)
    begin(consuming(batch=10, retries=3, dead_letter="mail_dead"))
    [dead] = await scheduler_pool.until("select message, headers from pgmq.q_mail_dead")
    await scheduler_pool.until("select where not exists (select from pgmq.q_mail)")

    first = json.loads(consumer.requests[0].body)
    assert (consumer.requests[0].path, consumer.requests[0].caller, first["queue"]) == (
        "/send",
        ServiceCaller(),
        "mail",
    )
    assert [len(json.loads(request.body)["messages"]) for request in consumer.requests[:3]] == [10, 10, 5]
    assert first["messages"][0] == {
        **first["messages"][0], "msg_id": 1, "read_ct": 1, "message": {"n": 0}, "headers": {"trace": "1"}
    }  # fmt: skip
    tries = [message["read_ct"] for message in consumer.given if message["message"]["n"] == 2]
    assert tries == [1, 2, 3, 4]
    assert len(consumer.given) == 25 + 3
    assert json.loads(dead["message"]) == {"n": 2}
    note = json.loads(dead["headers"])["dead_letter"]
    assert (note["queue"], note["msg_id"], note["read_ct"]) == ("mail", 3, 4)
    [row] = await scheduler_pool.until(
        "select * from headwater.queue_consumers where set_aside = 1 and done = 24"
    )
    assert (row["queue"], row["failed"], row["problem"]) == ("mail", 4, "")


async def test_a_lease_is_extended_while_a_function_works_and_pause_and_drain_are_obeyed(
    scheduler_pool: SchedulerPool, queues: asyncpg.Connection, consumer: Consumer, begin: Begin
):
    let_go = asyncio.Event()

    async def hang(messages: list[dict[str, Any]]) -> Response:
        await let_go.wait()
        return Response(200)

    consumer.answer = hang
    await sent(queues, 1)
    begin(consuming(batch=1, concurrency=1, visibility="5s"))
    [first] = await scheduler_pool.until("select vt from pgmq.q_mail where read_ct = 1")
    await scheduler_pool.until("select from pgmq.q_mail where vt > $1", first["vt"])
    await sent(queues, 2)
    await scheduler_pool.admin.execute(
        "update headwater.queue_consumers set wanted = 'pause'; notify headwater_queues"
    )
    for _ in range(
        2
    ):  # figures are written behind each look at what is wanted; the first may have looked before
        asked_at = await scheduler_pool.admin.fetchval("select clock_timestamp()")
        await scheduler_pool.admin.execute("notify headwater_queues")
        await scheduler_pool.until("select from headwater.queue_consumers where measured_at > $1", asked_at)
    let_go.set()
    await scheduler_pool.until("select from headwater.queue_consumers where messages = 2 and underway = 0")
    assert len(consumer.given) == 1

    await scheduler_pool.admin.execute(
        "update headwater.queue_consumers set wanted = 'drain'; notify headwater_queues"
    )

    await scheduler_pool.until("select from headwater.queue_consumers where wanted = 'pause' and done = 3")
    await sent(queues, 1)
    assert len(consumer.given) == 3


async def test_what_a_stopped_leader_had_underway_is_taken_by_the_next_and_no_attempt(
    scheduler_pool: SchedulerPool, queues: asyncpg.Connection, consumer: Consumer, begin: Begin
):
    async def hang(messages: list[dict[str, Any]]) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    consumer.answer = hang
    await sent(queues, 3)
    settings = msgspec.structs.replace(
        consuming(batch=2), pools=msgspec.structs.replace(Settings().pools, drain_timeout=1.0)
    )
    begin(settings)
    await scheduler_pool.until("select count(*) from pgmq.q_mail where read_ct = 1 having count(*) = 3")
    await scheduler_pool.schedulers.pop().close()
    consumer.answer = consumer.succeed
    begin(settings)

    await scheduler_pool.until("select where not exists (select from pgmq.q_mail)")
    assert {message["read_ct"] for message in consumer.given} == {1}


async def test_a_missing_queue_is_named_and_a_sleeping_platform_is_to_wake_for_its_messages(
    scheduler_pool: SchedulerPool,
    queues: asyncpg.Connection,
    consumer: Consumer,
    begin: Begin,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    note = tmp_path / "next_due.json"
    monkeypatch.setenv("HEADWATER_NEXT_DUE_FILE", str(note))
    begin(consuming(queue="later", dead_letter="later_dead"))
    await scheduler_pool.until(
        "select from headwater.queue_consumers where problem = 'there is no queue later'"
    )
    await queues.execute("select pgmq.create('later'); select pgmq.send('later', '1')")
    await scheduler_pool.until(
        "select from headwater.queue_consumers where problem like '%later_dead (dead_letter)'"
    )
    assert consumer.given == []

    await queues.execute("select pgmq.create('later_dead'); select pgmq.send('later', '2', 5000)")

    await scheduler_pool.until(
        "select from headwater.queue_consumers where problem = '' and done = 1 and messages = 1"
    )
    async with asyncio.timeout(30):  # until then it has the end of the first message's lease, or nothing
        while not 4000 < (json.loads(note.read_bytes())["moment"] or 0.0) - time.time() < 5000:
            await asyncio.sleep(0.02)  # between two looks: nothing announces the file


async def test_code_of_a_queues_owner_has_the_owners_rights_and_no_others(
    scheduler_pool: SchedulerPool, queues: asyncpg.Connection, consumer: Consumer, begin: Begin
):
    await queues.execute("""
        create table public.who (session text, now text, reaches boolean);
        create function public.look() returns trigger language plpgsql as $$
        begin
          reset role;
          insert into public.who values (
            session_user, current_user, has_function_privilege('headwater.queue_login(text, text)', 'execute')
              or pg_has_role(session_user, 'headwater_scheduler', 'member')
          );
          return null;
        end $$;
        create trigger look after delete on pgmq.q_mail for each statement execute function public.look();
    """)
    await sent(queues, 1)
    begin(consuming())

    [row] = await scheduler_pool.until("select * from public.who")

    assert row["session"].startswith("headwater_job_queue_")
    assert (row["now"], row["reaches"]) == ("postgres", False)
