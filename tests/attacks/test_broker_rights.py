"""What a worker whose broker password is stolen can do to the data of others: delete streams, forge row changes."""

import asyncio
import json

import aiohttp
import pytest

from broker.jetstream.streams import delete_stream
from broker.nats.connection import NatsConnection
from broker.subject_rights import EDGE_USER
from schemas.errors import DeadlineExceeded, Unavailable
from tests.platform import Platform

_DESTRUCTIVE = ("DELETE", "PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE", "LEADER.STEPDOWN", "PEER.REMOVE")
_FORGED = ("changes.public.forged", "messages.pub.forged", "gaps.forged")
_STREAMS = ("CHANGES", "EMAILS", "STORAGE_EVENTS", "FUNCTION_LOGS", "LOGS")


async def _open(target: Platform, user: str) -> NatsConnection:
    password = json.loads((target.data / "passwords.json").read_text())[user]
    port = json.loads((target.data / "ports.json").read_text())["nats"]
    return await NatsConnection.open(f"nats://{user}:{password}@127.0.0.1:{port}", name="attack")


async def _is_answered(connection: NatsConnection, subject: str, patience_s: float = 0.5) -> bool:
    try:
        await connection.request(subject, b"", patience_s)
    except (Unavailable, DeadlineExceeded):
        return False
    return True


@pytest.mark.parametrize("user", ["pool", EDGE_USER])
async def test_streams_are_neither_deleted_nor_emptied_nor_changed(target: Platform, user: str) -> None:
    connection = await _open(target, user)
    try:
        orders = [f"$JS.API.STREAM.{order}.{stream}" for stream in _STREAMS for order in _DESTRUCTIVE]
        orders += ["$JS.API.STREAM.UPDATE.CHANGES", "$JS.API.STREAM.CREATE.MINE", "$JS.API.ACCOUNT.PURGE.$G"]
        answered = await asyncio.gather(*(_is_answered(connection, order) for order in orders))
        assert [order for order, is_answered in zip(orders, answered, strict=True) if is_answered] == []
        assert user == EDGE_USER or await _is_answered(connection, "$JS.API.STREAM.INFO.EMAILS", 20)
    finally:
        await connection.close()


@pytest.mark.parametrize("user", ["pool", EDGE_USER])
async def test_row_changes_are_not_forged(target: Platform, user: str) -> None:
    connection, changes = await _open(target, user), await _open(target, "changes")
    try:
        for subject in _FORGED:
            connection.publish(subject, b"forged")
        await connection.flush()

        assert [subject for subject in _FORGED if await _is_kept(changes, subject)] == []
    finally:
        await connection.close()
        await changes.close()


async def _is_kept(connection: NatsConnection, subject: str) -> bool:
    """Tell whether the stream of row changes has a message of a subject."""
    asked = json.dumps({"subjects_filter": subject}).encode()
    answer = await connection.request("$JS.API.STREAM.INFO.CHANGES", asked, 5)
    return bool(json.loads(answer.payload)["state"].get("subjects"))


async def test_row_changes_go_on_after_their_stream_is_deleted(target: Platform) -> None:
    target.psql(
        "create table public.deleted_under (id int primary key); grant select on public.deleted_under to anon;"
        "alter publication supabase_realtime add table public.deleted_under;"
    )
    connection = await _open(target, "changes")
    url = f"{target.url}/realtime/v1/websocket?vsn=2.0.0&apikey={target.values['ANON_KEY']}"
    entry = {"event": "INSERT", "schema": "public", "table": "deleted_under"}
    join = ["1", "1", "realtime:a", "phx_join", {"config": {"postgres_changes": [entry]}}]
    seen: set[int] = set()
    try:
        async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
            await socket.send_str(json.dumps(join))
            while "Subscribed" not in await socket.receive_str(timeout=30):
                pass
            await delete_stream(connection, "CHANGES")
            row = 0
            while not seen:  # changes of the moment in which the stream is made again are told as a gap
                row += 1
                target.psql(f"insert into public.deleted_under values ({row})")
                try:
                    while True:
                        frame = json.loads(await socket.receive_str(timeout=2))
                        if frame[3] == "postgres_changes":
                            seen.add(frame[4]["data"]["record"]["id"])
                            break
                except TimeoutError:
                    assert row < 20, "row changes do not come any more"
    finally:
        await connection.close()
    assert seen


async def test_nothing_that_a_process_does_is_forbidden(target: Platform) -> None:
    """The rights are no narrower than the work: the broker has refused nothing to the workers that follow the log."""
    log = (target.data / "logs" / "nats.log").read_text()

    assert [line for line in log.splitlines() if "user:changes" in line and "Violation" in line] == []
