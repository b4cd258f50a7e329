"""What a fault may not do: lose what was acknowledged, leave half a write, hang a caller, or stay."""

import asyncio
import os
import signal
import socket
import subprocess
import time

import aiohttp
import pytest

from tests.platform import Platform
from tests.platforms.conftest import pid_of, token

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(180)]

_PATIENCE_S = 60


async def _sleeping(
    running_platform: Platform, service: dict[str, str], note: str
) -> asyncio.Task[tuple[int, str]]:
    """Start a request that has written and now waits inside its transaction."""

    async def call() -> tuple[int, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.post(
                f"{running_platform.url}/rest/v1/rpc/slow_write",
                json={"note": note, "seconds": 50},
                headers=service,
            ) as answer,
        ):
            return answer.status, await answer.text()

    task = asyncio.create_task(call())
    await _until(lambda: "1" in running_platform.psql(_RUNNING), "the request never reached the database")
    return task


_RUNNING = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"


async def _until(holds, complaint: str) -> None:  # type: ignore[no-untyped-def]  # any condition
    deadline = time.monotonic() + _PATIENCE_S
    while not await asyncio.to_thread(holds):
        assert time.monotonic() < deadline, complaint
        await asyncio.sleep(0.05)


async def _heals(running_platform: Platform) -> None:
    await _until(
        lambda: running_platform.get("/rest/v1/journal?limit=1")[0] == 200, "the platform did not heal"
    )


def _notes(running_platform: Platform) -> str:
    return running_platform.psql("select coalesce(string_agg(note, ','), 'nothing') from journal")


async def test_a_killed_worker_fails_its_request_and_leaves_no_row(
    running_platform: Platform, service: dict[str, str]
) -> None:
    request = await _sleeping(running_platform, service, "worker")
    os.kill(pid_of(running_platform, "pools"), signal.SIGKILL)

    status, body = await asyncio.wait_for(request, _PATIENCE_S)

    assert status == 504, body
    assert "outcome" in body, body
    await _heals(running_platform)
    assert "worker" not in _notes(running_platform)


async def test_a_killed_broker_fails_requests_and_comes_back(
    running_platform: Platform, service: dict[str, str]
) -> None:
    request = await _sleeping(running_platform, service, "broker")
    os.kill(pid_of(running_platform, "nats"), signal.SIGKILL)

    status, body = await asyncio.wait_for(request, _PATIENCE_S)

    assert (status, "outcome" in body) == (504, True), body
    await _heals(running_platform)
    await _until(
        lambda: "0" in running_platform.psql(_RUNNING),
        "the statement went on without anybody to hear its answer",
    )
    assert "broker" not in _notes(running_platform)


async def test_a_killed_database_fails_requests_and_comes_back(
    running_platform: Platform, service: dict[str, str]
) -> None:
    running_platform.psql("insert into journal (note) values ('kept')")
    request = await _sleeping(running_platform, service, "database")
    os.kill(pid_of(running_platform, "postgres"), signal.SIGKILL)

    status, body = await asyncio.wait_for(request, _PATIENCE_S)

    assert status in (500, 503), body
    await _heals(running_platform)
    notes = _notes(running_platform)
    assert "kept" in notes
    assert "database" not in notes


async def test_a_killed_edge_comes_back(running_platform: Platform) -> None:
    os.kill(pid_of(running_platform, "edges"), signal.SIGKILL)

    def answers() -> bool:
        try:
            return running_platform.get("/rest/v1/journal?limit=1")[0] == 200
        except OSError:
            return False

    await _until(answers, "the edge did not come back")


async def test_a_client_that_leaves_has_its_statement_cancelled(
    running_platform: Platform, service: dict[str, str]
) -> None:
    request = await _sleeping(running_platform, service, "gone")
    request.cancel()

    await _until(lambda: "0" in running_platform.psql(_RUNNING), "the statement went on")

    assert "gone" not in _notes(running_platform)


async def test_a_thousand_connections_are_all_answered(running_platform: Platform) -> None:
    headers = {"apikey": running_platform.values["SERVICE_ROLE_KEY"]}
    timeout = aiohttp.ClientTimeout(total=60)
    connector = aiohttp.TCPConnector(limit=1000)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers) as session:

        async def ask() -> int:
            async with session.get(f"{running_platform.url}/rest/v1/owned?select=n&limit=10") as answer:
                await answer.read()
                return answer.status

        statuses = [
            status for _ in range(3) for status in await asyncio.gather(*(ask() for _ in range(1000)))
        ]

    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 0.8 * len(statuses)


async def test_requests_of_many_people_never_mix(running_platform: Platform) -> None:
    key = running_platform.values["ANON_KEY"]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64)) as session:

        async def ask(user: str) -> set[str]:
            headers = {"apikey": key, "authorization": f"Bearer {token(running_platform, sub=user)}"}
            async with session.get(
                f"{running_platform.url}/rest/v1/owned?select=owner", headers=headers
            ) as answer:
                rows = await answer.json()
                assert len(rows) == 100
                return {row["owner"] for row in rows}

        users = [f"user-{n % 9}" for n in range(450)]
        seen = await asyncio.gather(*(ask(user) for user in users))

    assert seen == [{user} for user in users]


async def test_a_changed_schema_is_served_at_once(running_platform: Platform) -> None:
    running_platform.psql(
        "create table public.newcomer (id int primary key); insert into public.newcomer values (1)"
    )

    await _until(lambda: running_platform.get("/rest/v1/newcomer")[0] == 200, "the new table did not appear")

    running_platform.psql("drop table public.newcomer")
    await _until(lambda: running_platform.get("/rest/v1/newcomer")[0] == 404, "the dropped table stayed")


def test_logs_hold_no_secrets(running_platform: Platform) -> None:
    secrets = [running_platform.values[name] for name in ("JWT_SECRET", "SERVICE_ROLE_KEY", "SECRET_KEY")]
    logs = subprocess.run(
        ["cat", *map(str, (running_platform.data / "logs").iterdir())],
        capture_output=True,
        text=True,
        check=True,
    )

    assert not [secret for secret in secrets if secret in logs.stdout]


def test_a_slow_sender_does_not_hold_up_others(running_platform: Platform) -> None:
    with socket.create_connection(("127.0.0.1", running_platform.port)) as slow:
        slow.sendall(b"POST /rest/v1/journal HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")

        status, _ = running_platform.get("/rest/v1/journal?limit=1")

    assert status == 200
