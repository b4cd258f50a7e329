"""The first message of a TLS client: what `ssl` really sends, in pieces, and bytes that are none."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.connections.client_hello import is_whole, read_client_hello


def hello(host: str | None, protocols: list[str]) -> bytes:
    """Return the first bytes of Python's own client."""
    context = ssl._create_unverified_context()
    if protocols:
        context.set_alpn_protocols(protocols)
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=host)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


@pytest.mark.parametrize(
    ("host", "protocols"),
    [
        ("api.example.org", ["acme-tls/1"]),
        ("a.example.org", ["h2", "http/1.1"]),
        ("b.example.org", []),
        (None, ["x"]),
    ],
)
def test_host_and_protocols_are_read(host: str | None, protocols: list[str]) -> None:
    data = hello(host, protocols)

    read = read_client_hello(data)

    assert is_whole(data)
    assert read is not None
    assert (read.host, list(read.protocols)) == (host or "", protocols)


def test_a_part_is_not_whole_and_reads_as_nothing() -> None:
    data = hello("api.example.org", ["acme-tls/1"])

    assert not any(is_whole(data[:size]) for size in range(len(data)))
    assert [read_client_hello(data[:size]) for size in range(len(data))] == [None] * len(data)


def test_what_is_no_tls_is_not_waited_for() -> None:
    assert is_whole(b"GET / HTTP/1.1\r\n")
    assert read_client_hello(b"GET / HTTP/1.1\r\n") is None


@given(st.binary(max_size=200), st.integers(0, 400))
def test_no_bytes_raise(junk: bytes, at: int) -> None:
    data = hello("api.example.org", ["acme-tls/1"])

    read_client_hello(junk)
    read_client_hello(data[:at] + junk + data[at + len(junk) :])
