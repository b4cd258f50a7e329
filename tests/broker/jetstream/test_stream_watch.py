"""A stream whose disk was full: it is noticed, and it stores again after a restart of its server with room."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator

import pytest

from broker.jetstream.ordered_publisher import OrderedPublisher
from broker.jetstream.stream_watch import StreamWatch, public_reason
from broker.jetstream.streams import StreamLimits, create_stream, delete_stream, stream_state
from broker.nats.connection import NatsConnection
from broker.observability.faults import Faults
from broker.subjects import canary
from tests.broker.server import NatsServer
from tests.faults.full_disk import SmallDisk, small_disk

LIMITS = StreamLimits("KEPT", ("kept.>", canary("KEPT").name), 900, 10_000_000)
_PATIENCE_S = 60


@pytest.fixture
async def place() -> AsyncIterator[tuple[SmallDisk, NatsServer, NatsConnection]]:
    """A nats-server whose store lies on a disk of three megabytes, and a connection to it."""
    with small_disk(3) as disk:
        store = f'jetstream: {{ store_dir: "{disk.path}/store", max_file_store: 64GB }}'
        server = NatsServer(disk.path, store, jetstream=False)
        await server.start()
        try:
            connection = await NatsConnection.open(server.url, name="test")
            await create_stream(connection, LIMITS, {})
            yield disk, server, connection
            await connection.close()
        finally:
            server.kill()


@contextlib.asynccontextmanager
async def _watched(connection: NatsConnection, faults: Faults) -> AsyncIterator[StreamWatch]:
    watch = StreamWatch(connection, "KEPT", lambda: create_stream(connection, LIMITS, {}), faults)
    try:
        yield watch
    finally:
        await watch.close()


async def _looked(watch: StreamWatch, *, is_faulty: bool) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while bool(watch.reason) is not is_faulty:
            await watch.check()
            await asyncio.sleep(0.05)


async def test_a_store_that_failed_is_a_fault_until_its_server_was_restarted_with_room(
    place: tuple[SmallDisk, NatsServer, NatsConnection],
) -> None:
    disk, server, connection = place
    faults = Faults()
    async with _watched(connection, faults) as watch:
        await watch.check()
        assert (watch.reason, faults.present) == ("", [])

        disk.fill()
        await _looked(watch, is_faulty=True)
        disk.free()
        await watch.check()
        fault = faults.present[0]
        assert (fault.part, fault.is_sticky) == ("stream KEPT", True), "room alone cures nothing"

        server.kill()
        await server.start()
        await connection.connected()
        await _looked(watch, is_faulty=False)
        assert faults.present == []


async def test_the_writer_of_a_chain_notices_it_and_goes_on_without_a_loss(
    place: tuple[SmallDisk, NatsServer, NatsConnection],
) -> None:
    disk, server, connection = place
    faults = Faults()
    async with (
        _watched(connection, faults) as watch,
        OrderedPublisher(
            connection,
            "KEPT",
            order=int,
            last_seq=0,
            last_id="",
            confirmed=0,
            on_stored=watch.stored,
            on_rejected=watch.rejected,
            on_unanswered=lambda: watch.unanswered(is_sticky=True),
        ) as ordered,
    ):
        await ordered.publish("kept.a", b"x", id="1", mark=1)
        await ordered.settled()
        disk.fill()
        for number in range(2, 6):
            await ordered.publish("kept.a", b"x" * 3000, id=str(number), mark=number)
        async with asyncio.timeout(_PATIENCE_S):
            while not faults.present:
                await asyncio.sleep(0.05)
        assert ordered.confirmed < 5, "nothing counts as done that the stream does not have"

        disk.free()
        server.kill()
        await server.start()
        async with asyncio.timeout(_PATIENCE_S):
            await ordered.settled()
        state = await stream_state(connection, "KEPT")

        assert (ordered.confirmed, faults.present) == (5, [])
        assert state is not None
        assert (state.last_id, state.last_seq) == ("5", 5)


async def test_canaries_do_not_pile_up(place: tuple[SmallDisk, NatsServer, NatsConnection]) -> None:
    _, _, connection = place
    async with _watched(connection, Faults()) as watch:
        for _ in range(3):
            await watch.check()
    told = await connection.request("$JS.API.STREAM.MSG.GET.KEPT", b'{"seq":1}')

    assert b"Nats-TTL" in _decoded(told.payload), "a canary lives for some seconds only"


async def test_a_stream_that_vanished_is_made_again(
    place: tuple[SmallDisk, NatsServer, NatsConnection],
) -> None:
    _, _, connection = place
    async with _watched(connection, Faults()) as watch:
        await delete_stream(connection, "KEPT")
        await watch.check()

    assert await stream_state(connection, "KEPT") is not None


async def test_jetstream_that_is_switched_off_is_a_sticky_fault() -> None:
    with small_disk(3) as disk:
        server = NatsServer(disk.path, jetstream=False)
        await server.start()
        try:
            connection = await NatsConnection.open(server.url, name="test")
            faults = Faults()
            async with _watched(connection, faults) as watch:
                await _looked(watch, is_faulty=True)
                assert [fault.is_sticky for fault in faults.present] == [True]
                assert "switched off" in watch.reason
            await connection.close()
        finally:
            server.kill()


async def test_a_refusal_of_a_limit_is_no_reason_to_restart_the_server(
    place: tuple[SmallDisk, NatsServer, NatsConnection],
) -> None:
    _, _, connection = place
    faults = Faults()
    async with _watched(connection, faults) as watch:
        watch.rejected(10047, "insufficient storage resources available")
        assert [fault.is_sticky for fault in faults.present] == [False]
        watch.rejected(10077, "write /store/1.blk: input/output error")
        assert [(fault.reason, fault.is_sticky) for fault in faults.present] == [
            ("does not store: input/output error", True)
        ]


def test_reasons_have_no_paths_of_the_server() -> None:
    assert (
        public_reason("write /data/nats/CHANGES/1.blk: no space left on device") == "no space left on device"
    )
    assert public_reason("") == "without a reason"


def _decoded(payload: bytes) -> bytes:
    import base64
    import json

    return base64.b64decode(json.loads(payload)["message"]["hdrs"])


def test_a_mount_that_is_left_is_gone() -> None:
    with small_disk(1) as disk:
        where = str(disk.path)

    assert where not in subprocess.run(["mount"], capture_output=True, text=True, check=True).stdout
