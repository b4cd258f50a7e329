import asyncio
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from nats.errors import Error as PackageError

from broker.jetstream.durable_consumer import ConsumerPull, DurableConsumer, _jetstream, ensure_consumer
from broker.jetstream.nats_py import ConnectionClosed, JetStreamClient
from broker.jetstream.streams import ensure_stream
from broker.nats.connection import NatsConnection
from broker.observability.observe import exposition
from broker.subject_rights import EDGE_USER, authorization
from schemas.errors import Unavailable
from tests.broker.certificate import certificate_for_loopback
from tests.broker.conftest import Open
from tests.broker.server import NatsServer, free_port, running_server

_CLIENTS = """
import sys
import broker.requests.body, broker.requests.call, broker.nats.connection, broker.observability.metrics, broker.processes.lifecycle, broker.requests.serve
print("nats" in sys.modules)
"""


class _Client(msgspec.Struct):
    name: str = ""
    tls_version: str = ""


class _Clients(msgspec.Struct):
    connections: list[_Client]


async def _clients(port: int) -> list[_Client]:
    """Give who is connected, as the server tells on its monitoring port."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /connz HTTP/1.0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return msgspec.json.decode(answer.partition(b"\r\n\r\n")[2], type=_Clients).connections


def _seen(observation: str) -> float:
    lines = [line for line in exposition().decode().splitlines() if f'"{observation}"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


async def publish(connection: NatsConnection, subject: str, payload: bytes, timeout: float = 5.0) -> int:
    """Store a message by nats-py, with its errors translated as those of consumers are."""
    async with _jetstream(connection, subject, timeout) as jetstream:
        return (await jetstream.publish(subject, payload, timeout=timeout)).seq


async def test_without_a_durable_order_only_our_own_client_connects() -> None:
    port = free_port()
    async with running_server(f'http: "127.0.0.1:{port}"') as server:
        connection = await NatsConnection.open(server.url, name="both")
        connection.publish("hot", b"")
        await connection.flush()
        before = [client.name for client in await _clients(port)]

        await ensure_stream(connection, "ONE", ["one.*"])
        await asyncio.gather(*(publish(connection, "one.x", b"") for _ in range(5)))

        assert before == ["both"]
        assert sorted(client.name for client in await _clients(port)) == ["both", "both (durable)"]
        await connection.close()
        async with asyncio.timeout(60):
            while await _clients(port):
                await asyncio.sleep(0.02)


async def test_who_needs_nothing_durable_does_not_import_the_package() -> None:
    process = await create_subprocess_exec(sys.executable, "-c", _CLIENTS, stdout=PIPE)

    told, _ = await process.communicate()

    assert told.split() == [b"False"]


async def test_while_the_broker_is_away_orders_fail_and_are_not_given_later(
    own_nats: NatsServer, connect: Open
) -> None:
    connection = await connect(own_nats.url)
    await ensure_stream(connection, "AWAY", ["away.*"])
    assert await publish(connection, "away.x", b"1") == 1

    own_nats.kill()
    for _ in range(20):
        with pytest.raises(Unavailable):
            await publish(connection, "away.x", b"never")
    await own_nats.start()
    await connection.connected()

    assert await publish(connection, "away.x", b"2") == 2


async def test_an_order_ends_as_soon_as_the_connection_is_lost(own_nats: NatsServer, connect: Open) -> None:
    connection, other = await connect(own_nats.url), await connect(own_nats.url)
    asked = asyncio.Event()
    other.subscribe("silent", lambda _: asked.set())
    await other.flush()

    order = asyncio.ensure_future(publish(connection, "silent", b"", timeout=3600))
    await asked.wait()
    own_nats.kill()

    with pytest.raises(Unavailable):
        async with asyncio.timeout(60):
            await order


async def test_after_the_package_gave_up_a_new_client_takes_over(nats: NatsServer, connect: Open) -> None:
    connection = await connect(nats.url)
    durable, consumer = (
        connection.linked(JetStreamClient),
        DurableConsumer("UP", "d", "up.*", 30.0, False, 8),
    )
    await ensure_stream(connection, "UP", ["up.*"])
    await ensure_consumer(connection, consumer)
    lost = _seen("BrokerLost")

    async with ConsumerPull(connection, consumer) as pull:
        waiting = asyncio.ensure_future(pull.next())
        # The server closes on a message that is too long; the package takes this as the end.
        with pytest.raises((PackageError, TimeoutError)):
            async with durable.use(20) as jetstream:
                await jetstream.publish("up.x", bytes(connection.max_payload), headers={"X": "y" * 100})
        await publish(connection, "up.x", b"again")

        async with asyncio.timeout(60):
            assert (await waiting).data == b"again"
    assert _seen("BrokerLost") == lost + 1


async def test_after_closing_no_order_is_taken(nats: NatsServer) -> None:
    connection = await NatsConnection.open(nats.url, name="test")
    await ensure_stream(connection, "CLOSED", ["closed.*"])
    durable = connection.linked(JetStreamClient)

    await connection.close()
    await connection.close()

    with pytest.raises(Unavailable):
        await publish(connection, "closed.x", b"")
    with pytest.raises(ConnectionClosed):
        async with durable.use(1):
            pass


async def test_closing_does_not_wait_for_a_client_that_cannot_connect(own_nats: NatsServer) -> None:
    connection = await NatsConnection.open(own_nats.url, name="test")
    durable = connection.linked(JetStreamClient)
    own_nats.kill()  # our own connection has not heard of it yet: the client tries for as long as it may
    order = asyncio.ensure_future(publish(connection, "any", b"", timeout=3600))
    await asyncio.sleep(0)

    async with asyncio.timeout(60):
        await durable.close()

        with pytest.raises(Unavailable):
            await order
    await connection.close()


async def test_credentials_with_signs_of_a_url_are_understood(connect: Open) -> None:
    password = 'p"2 /@:#?%'
    async with running_server(authorization({"pool": password})) as server:
        connection = await connect(server.url_of("pool", quote(password, safe="")))
        consumer = DurableConsumer("STORAGE_EVENTS", "d", "events.kept", 30.0, False, 8)

        await ensure_stream(connection, "STORAGE_EVENTS", ["events.kept"])
        await ensure_consumer(connection, consumer)
        await publish(connection, "events.kept", b"for a pool")

        async with ConsumerPull(connection, consumer) as pull, asyncio.timeout(60):
            assert (await pull.next()).data == b"for a pool"


async def test_a_token_lets_in(connect: Open) -> None:
    async with running_server('authorization { token: "t0ken" }') as server:
        connection = await connect(server.url.replace("//", "//t0ken@"))

        await ensure_stream(connection, "TOKEN", ["token.*"])

        assert await publish(connection, "token.x", b"") == 1


async def test_what_is_not_allowed_is_unavailable_and_observed(connect: Open) -> None:
    complaints = _seen("BrokerComplained")
    async with running_server(authorization({EDGE_USER: "secret-word"})) as server:
        connection = await connect(server.url_of(EDGE_USER, "secret-word"))

        with pytest.raises(Unavailable) as caught:
            await publish(connection, "events.kept", b"", timeout=0.5)

    assert "secret-word" not in str(caught.value)
    assert _seen("BrokerComplained") == complaints + 1


@pytest.mark.parametrize("scheme", ["nats", "tls"])
async def test_where_the_server_or_the_url_demands_tls_it_is_spoken(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, port = certificate_for_loopback(tmp_path), free_port()
    config = (
        f'tls {{ cert_file: "{certificate}", key_file: "{tmp_path / "key.pem"}" }}\nhttp: "127.0.0.1:{port}"'
    )
    may_do_without = "\nallow_non_tls: true" if scheme == "tls" else ""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async with running_server(config + may_do_without) as server:
        connection = await NatsConnection.open(server.url.replace("nats", scheme, 1), name="test")
        await ensure_stream(connection, "TLS", ["tls.*"])
        await publish(connection, "tls.x", b"")  # opens the durable connection
        clients = await _clients(port)
        await connection.close()

    assert len(clients) == 2
    assert all(client.tls_version for client in clients)
