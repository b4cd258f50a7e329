import asyncio
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsLink, NatsMessage
from schemas.errors import Unavailable
from tests.broker.certificate import certificate_for_loopback
from tests.broker.server import running_server

_WORD = st.text("abcdefgh.", min_size=1, max_size=8)
_MESSAGES = st.lists(
    st.builds(
        NatsMessage, _WORD, st.just("") | _WORD, st.binary(max_size=50), st.sampled_from([0, 0, 503, 404])
    )
)


def _written(message: NatsMessage, with_headers: bool) -> bytes:
    """Give a message as a server writes it."""
    reply = f"{message.reply} " if message.reply else ""
    size = len(message.payload)
    if not message.status and not with_headers:
        return f"MSG {message.subject} 1 {reply}{size}\r\n".encode() + message.payload + b"\r\n"
    status = f" {message.status}" if message.status else ""
    head = f"NATS/1.0{status}\r\nA: b\r\n\r\n".encode()
    line = f"HMSG {message.subject} 1 {reply}{len(head)} {len(head) + size}\r\n".encode()
    return line + head + message.payload + b"\r\n"


@given(_MESSAGES, st.booleans(), st.data())
async def test_messages_are_read_however_their_bytes_are_cut(
    messages: list[NatsMessage], with_headers: bool, data: st.DataObject
) -> None:
    stream = b"PING\r\n+OK\r\n".join([b"", *(_written(message, with_headers) for message in messages)])
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12).map(sorted))
    got: list[NatsMessage] = []
    link = NatsLink({b"1": got.append}, lambda *_: None, lambda _: None)

    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        if start < end:
            link.data_received(stream[start:end])

    assert got == messages


async def test_a_callback_that_raises_does_not_stop_the_next_message() -> None:
    got: list[NatsMessage] = []

    def take(message: NatsMessage) -> None:
        got.append(message)
        raise RuntimeError("broken callback")

    link = NatsLink({b"1": take}, lambda *_: None, lambda _: None)

    link.data_received(b"MSG a 1 1\r\nx\r\nMSG a 2 1\r\ny\r\nMSG a 1 1\r\nz\r\n")

    assert [message.payload for message in got] == [b"x", b"z"]


async def test_a_server_that_demands_tls_is_reached_by_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_for_loopback(tmp_path)
    config = f'tls {{ cert_file: "{certificate}", key_file: "{tmp_path / "key.pem"}" }}'
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async with running_server(config) as server:
        connection = await NatsConnection.open(server.url, name="test")
        got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        connection.subscribe("secured", lambda message: got.set_result(message.payload))
        connection.publish("secured", b"x" * 200_000)
        await asyncio.wait_for(got, 60)
        await connection.close()

    assert got.result() == b"x" * 200_000


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = (
        f'tls {{ cert_file: "{certificate_for_loopback(tmp_path)}", key_file: "{tmp_path / "key.pem"}" }}'
    )
    monkeypatch.setenv("SSL_CERT_FILE", ssl.get_default_verify_paths().cafile or "")

    async with running_server(config) as server:
        with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await NatsConnection.open(server.url, name="test", timeout=2)
