"""Read the first message of a TLS client as far as the gateway needs it: the host name and the protocols that it offers (pure).

The bytes are looked at before the handshake (MSG_PEEK): `ssl` reports the offered protocols (ALPN) only when the certificate is chosen,
and TLS-ALPN-01 wants a certificate of its own for the protocol `acme-tls/1`. Sources: RFC 8446, 4.1.2; RFC 6066, 3; RFC 7301, 3.1.
"""

from dataclasses import dataclass

LONGEST = 18 * 1024
"""Bytes that are looked at: a record has at most 16 KiB."""
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_VERSION_AND_RANDOM = 34
_SERVER_NAME, _ALPN = 0, 16
_HOST_NAME = 0


@dataclass(frozen=True, slots=True)
class ClientHello:
    """What the client offers."""

    host: str
    protocols: tuple[str, ...]


class _Bytes:
    """Reads numbers and vectors one after the other. Raises: ValueError at the end."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, size: int) -> bytes:
        if size > len(self.rest):
            raise ValueError("the message ends early")
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> bytes:
        return self.take(self.number(size))


def is_whole(data: bytes) -> bool:
    """Return whether these first bytes of a connection contain the whole first record, or are no TLS at all."""
    if not data or data[0] != _HANDSHAKE:
        return bool(data)
    return len(data) >= LONGEST or (
        len(data) >= _RECORD_HEAD and len(data) >= _RECORD_HEAD + int.from_bytes(data[3:_RECORD_HEAD])
    )


def read_client_hello(data: bytes) -> ClientHello | None:
    """Return what the client offers; None if the bytes are no ClientHello, or one in several records."""
    try:
        record = _Bytes(data)
        if record.number(1) != _HANDSHAKE:
            return None
        record.take(2)
        message = _Bytes(record.vector(2))
        if message.number(1) != _CLIENT_HELLO:
            return None
        hello = _Bytes(message.vector(3))
        hello.take(_VERSION_AND_RANDOM)
        for length_bytes in (1, 2, 1):  # session id, cipher suites, compression methods
            hello.vector(length_bytes)
        return _extensions(_Bytes(hello.vector(2)))
    except ValueError:
        return None


def _extensions(extensions: _Bytes) -> ClientHello:
    host = ""
    protocols: tuple[str, ...] = ()
    while extensions.rest:
        kind, content = extensions.number(2), _Bytes(extensions.vector(2))
        if kind == _SERVER_NAME:
            names = _Bytes(content.vector(2))
            if names.number(1) == _HOST_NAME:
                host = names.vector(2).decode("latin-1")
        elif kind == _ALPN:
            protocols = tuple(_protocols(_Bytes(content.vector(2))))
    return ClientHello(host, protocols)


def _protocols(names: _Bytes) -> list[str]:
    offered = []
    while names.rest:
        offered.append(names.vector(1).decode("latin-1"))
    return offered
