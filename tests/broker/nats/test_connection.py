import asyncio

import msgspec
import pytest

import broker.nats.server_link
from broker.nats.connection import NatsConnection
from broker.nats.protocol import MessageTooLong, NatsMessage
from schemas.errors import Unavailable
from tests.broker.conftest import Open
from tests.broker.server import NatsServer, free_port, running_server
from tests.faults.silent_way import silent_way


async def _until(connection: NatsConnection, is_connected: bool) -> None:
    async with asyncio.timeout(60):
        while connection.is_connected is not is_connected:
            await asyncio.sleep(0.01)


async def test_what_is_published_reaches_who_listens_in_its_order(nats: NatsServer, connect: Open) -> None:
    speaker, listener = await connect(nats.url), await connect(nats.url)
    got: list[bytes] = []
    listener.subscribe("ordered", lambda message: got.append(message.payload))
    await listener.flush()

    for number in range(500):
        speaker.publish("ordered", str(number).encode() * (1 if number % 7 else 20_000))
    await speaker.flush()
    await listener.flush()

    assert got == [str(number).encode() * (1 if number % 7 else 20_000) for number in range(500)]


async def test_a_queue_group_shares_messages(nats: NatsServer, connect: Open) -> None:
    speaker, listener = await connect(nats.url), await connect(nats.url)
    got: list[int] = []
    listener.subscribe("shared", lambda _: got.append(1), queue="group")
    listener.subscribe("shared", lambda _: got.append(2), queue="group")
    await listener.flush()

    for _ in range(100):
        speaker.publish("shared", b"")
    await speaker.flush()
    await listener.flush()

    assert len(got) == 100
    assert set(got) == {1, 2}


async def test_an_ended_subscription_hears_nothing_more(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    got: list[NatsMessage] = []
    subscription = connection.subscribe("ended", got.append)
    connection.publish("ended", b"before")

    subscription.unsubscribe()
    connection.publish("ended", b"after")
    await connection.flush()

    assert [message.payload for message in got] == [b"before"]


async def test_a_question_gets_its_answer_or_is_unavailable(nats: NatsServer, connect: Open) -> None:
    asker, other = await connect(nats.url), await connect(nats.url)
    other.subscribe("question", lambda message: other.publish(message.reply, message.payload[::-1]))
    other.subscribe("silence", lambda _: None)
    await other.flush()

    assert (await asker.request("question", b"abc")).payload == b"cba"
    with pytest.raises(Unavailable, match="nobody answers"):
        await asker.request("nowhere", b"")
    with pytest.raises(Unavailable, match="nobody answered"):
        await asker.request("silence", b"", timeout=0.05)


async def test_a_message_beyond_the_limit_is_refused_and_nothing_else(
    nats: NatsServer, connect: Open
) -> None:
    connection = await connect(nats.url)

    with pytest.raises(MessageTooLong):
        connection.publish("long", bytes(connection.max_payload + 1))

    await connection.flush()
    assert connection.is_connected


async def test_the_first_connect_waits_for_a_server_that_is_still_starting(own_nats: NatsServer) -> None:
    own_nats.kill()
    opening = asyncio.ensure_future(NatsConnection.open(own_nats.url, name="test", timeout=20))
    done, _ = await asyncio.wait([opening], timeout=0.2)

    await own_nats.start()

    connection = await opening
    assert not done
    assert connection.is_connected
    await connection.close()


async def test_without_a_server_opening_gives_up_in_time() -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        await NatsConnection.open(f"nats://127.0.0.1:{free_port()}", name="test", timeout=0.3)


async def test_a_malformed_url_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="the broker's URL"):
        await NatsConnection.open("http://127.0.0.1", name="test")


async def test_while_disconnected_publishing_fails_and_afterwards_nothing_of_it_arrives(
    own_nats: NatsServer, connect: Open
) -> None:
    connection = await connect(own_nats.url)
    told: list[str] = []
    connection.on_lost.append(lambda: told.append("lost"))
    connection.on_back.append(lambda: told.append("back"))
    got: list[bytes] = []
    connection.subscribe("later", lambda message: got.append(message.payload))

    own_nats.kill()
    await _until(connection, False)
    with pytest.raises(Unavailable):
        connection.publish("later", b"too early")
    assert connection.try_publish("later", b"too early") is False
    await own_nats.start()
    await _until(connection, True)
    connection.publish("later", b"in time")
    await connection.flush()

    assert got == [b"in time"]
    assert told == ["lost", "back"]


async def test_another_server_of_the_list_takes_over(connect: Open) -> None:
    async with running_server() as first, running_server() as second:
        connection = await connect(f"{first.url},{second.url}")
        back, got = asyncio.Event(), asyncio.Event()
        connection.on_back.append(back.set)
        connection.subscribe("over", lambda _: got.set())

        first.kill()
        await asyncio.wait_for(back.wait(), 60)
        connection.publish("over", b"")

        await asyncio.wait_for(got.wait(), 60)


async def test_a_silent_server_of_several_is_left_sooner_than_the_only_one(
    monkeypatch: pytest.MonkeyPatch, nats: NatsServer, connect: Open
) -> None:
    monkeypatch.setattr(broker.nats.server_link, "_PING_CLUSTER_S", 0.1)
    async with silent_way("127.0.0.1", nats.port) as way:
        alone = await connect(f"nats://127.0.0.1:{way.port}")
        one_of_two = await connect(f"nats://127.0.0.1:{way.port},{nats.url}")

        way.silence()
        await _until(one_of_two, is_connected=False)
        await _until(one_of_two, is_connected=True)

        assert alone.is_connected
        way.mend()


async def test_draining_handles_what_has_arrived_and_sends_what_is_due(
    nats: NatsServer, connect: Open
) -> None:
    worker, other = await connect(nats.url), await connect(nats.url)
    got: list[bytes] = []
    other.subscribe("due", lambda message: got.append(message.payload))
    worker.subscribe("drained", lambda message: worker.publish("due", message.payload))
    await other.flush()
    await worker.flush()
    other.publish("drained", b"last")
    await other.flush()

    await worker.drain()

    await other.flush()
    assert got == [b"last"]
    assert not worker.is_connected
    with pytest.raises(Unavailable):
        worker.publish("due", b"")


async def test_closing_tells_everything_that_waits(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    other = await connect(nats.url)
    other.subscribe("waits", lambda _: None)
    await other.flush()
    asked = asyncio.ensure_future(connection.request("waits", b"", timeout=60))
    await connection.flush()

    await connection.close()

    with pytest.raises(Unavailable):
        await asked


async def test_nothing_that_happens_while_it_reconnects_ends_the_reconnecting(connect: Open) -> None:
    """A server that ends while TLS is set up, and hooks that raise: each once ended the only task that reconnects."""
    cut: list[asyncio.BaseTransport] = []

    class Cut(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            transport.write(b'INFO {"tls_required":true}\r\n')
            transport.close()
            cut.append(transport)

    def broken_hook() -> None:
        raise RuntimeError("broken hook")

    async with running_server() as server:
        connection = await connect(server.url)
        connection.on_lost.append(broken_hook)
        connection.on_back.append(broken_hook)
        server.kill()
        await _until(connection, False)
        port = int(server.url.rpartition(":")[2])
        listener = await asyncio.get_running_loop().create_server(Cut, "127.0.0.1", port)
        async with asyncio.timeout(30):
            while len(cut) < 3:
                await asyncio.sleep(0.01)
        listener.close()
        await listener.wait_closed()
        await server.start()

        await _until(connection, True)
        await connection.flush()


async def test_servers_that_left_the_cluster_are_tried_no_more() -> None:
    """Where their addresses change at every start, a reconnect would try ever more that nobody answers on."""
    served: list[asyncio.StreamWriter] = []

    def info(*urls: str) -> bytes:
        return b"INFO " + msgspec.json.encode({"connect_urls": urls}) + b"\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(writer)
        writer.write(info("10.0.0.1:4222", "[::1]:4222"))
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    connection = await NatsConnection.open(f"nats://127.0.0.1:{port}", name="test")
    at_first = {(each.host, each.port) for each in connection.servers}
    served[0].write(info("10.0.0.2:4222", "[::1]:4222"))
    await connection.flush()
    later = {(each.host, each.port) for each in connection.servers}
    served[0].write(b"INFO {}\r\n")
    await connection.flush()
    without_a_list = {(each.host, each.port) for each in connection.servers}
    await connection.close()
    served[0].close()
    listener.close()

    own = ("127.0.0.1", port)
    assert at_first == {own, ("10.0.0.1", 4222), ("::1", 4222)}
    assert later == without_a_list == {own, ("10.0.0.2", 4222), ("::1", 4222)}


async def test_a_resource_that_cannot_be_closed_does_not_keep_the_connection_open(
    nats: NatsServer, connect: Open
) -> None:
    class Broken:
        def __init__(self, connection: NatsConnection) -> None:
            del connection

        async def close(self) -> None:
            raise OSError("broken")

    connection = await connect(nats.url)
    connection.linked(Broken)

    with pytest.raises(OSError, match="broken"):
        await connection.close()

    assert not connection.is_connected
    await connection.close()
