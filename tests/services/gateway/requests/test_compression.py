"""Which responses are compressed, and what reaches the client: RFC 9110, 8.4 and 12.5.3."""

import json
import zlib
from collections.abc import Callable

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.http import Headers, Response
from schemas.settings.tree import CompressionSettings, Gateway
from services.gateway.requests import encoders
from services.gateway.requests.compression import (
    IDENTITY,
    ResponseCompression,
    encoded_headers,
    is_secret,
    preferred_coding,
    weakened,
)
from services.gateway.requests.encoders import Encoders, zstd
from services.gateway.requests.request import GatewayRequest
from services.gateway.requests.routes import route_of
from tests.broker.server import NatsServer
from tests.services.gateway.pool import LARGE, Pool
from tests.services.gateway.requests.test_forward import said
from tests.services.gateway.running_gateway import KEYS, RunningGateway, fresh_id, running_gateway
from tests.services.gateway.wire import head_of

LONG = json.dumps([{"id": number, "name": f"row {number}"} for number in range(200)])
DECODE: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstd.decompress,
    "br": brotli.decompress,
    "gzip": lambda data: zlib.decompress(data, 31),
}
BROWSER = "gzip, deflate, br, zstd"


# Which coding


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        (None, IDENTITY),
        ("", IDENTITY),
        ("identity", IDENTITY),
        ("gzip", "gzip"),
        ("x-gzip", "gzip"),
        ("GZIP", "gzip"),
        ("gzip, deflate, br", "br"),
        (BROWSER, "zstd"),
        ("gzip;q=1, br;q=0.5, zstd;q=0.1", "gzip"),
        ("gzip; q=0.8 , br;Q=0.9", "br"),
        ("gzip;q=0", IDENTITY),
        ("gzip;q=0.000", IDENTITY),
        ("*", "zstd"),
        ("*;q=0", IDENTITY),
        ("*;q=0.1, br;q=0", "zstd"),
        ("zstd;q=0, *", "br"),
        ("identity;q=1, gzip;q=0.5", IDENTITY),
        ("identity;q=0.5, gzip;q=1", "gzip"),
        ("deflate, compress", IDENTITY),
        ("gzip;q=2", IDENTITY),
        ("gzip;q=banana", IDENTITY),
        ("gzip;q=", IDENTITY),
        ("gzip;level=9", "gzip"),
        (",,gzip,,", "gzip"),
        ("gzip;q=0, gzip;q=1", IDENTITY),
    ],
)
def test_the_coding_that_the_client_prefers_is_taken(accept: str | None, coding: str) -> None:
    assert preferred_coding(accept) == coding


@given(st.text(max_size=80))
def test_any_header_names_a_coding(text: str) -> None:
    assert preferred_coding(text) in (*DECODE, IDENTITY)


COMPRESSION = ResponseCompression(CompressionSettings())


@pytest.mark.parametrize(
    ("headers", "size", "coding"),
    [
        ([("content-type", "application/json; charset=utf-8")], 1024, "br"),
        ([("content-type", "application/json")], 1023, None),
        ([("content-type", "application/json")], -1, "br"),
        ([("content-type", "application/vnd.pgrst.object+json; charset=utf-8")], 5000, "br"),
        ([("content-type", "application/graphql-response+json")], 5000, "br"),
        ([("content-type", "application/x-ndjson")], -1, "br"),
        ([("content-type", "text/csv; charset=utf-8")], 5000, "br"),
        ([("content-type", "TEXT/HTML")], 5000, "br"),
        ([("content-type", "image/svg+xml")], 5000, "br"),
        ([("content-type", "text/event-stream; charset=utf-8")], -1, None),
        ([("content-type", "image/png")], 5000, None),
        ([("content-type", "application/zip")], 5000, None),
        ([("content-type", "application/octet-stream")], 5000, None),
        ([("content-type", "video/mp4")], 5000, None),
        ([("content-type", "font/woff2")], 5000, None),
        ([("content-type", "applicationjson")], 5000, None),
        ([], 5000, None),
        ([("content-type", "text/plain"), ("content-encoding", "gzip")], 5000, None),
        ([("content-type", "text/plain"), ("content-range", "bytes 0-4999/9000")], 5000, None),
        ([("content-type", "application/json"), ("content-range", "0-24/100")], 5000, "br"),
        ([("content-type", "text/plain"), ("cache-control", "no-transform, max-age=1")], 5000, None),
    ],
)
def test_long_texts_are_compressed_and_nothing_else(headers: Headers, size: int, coding: str | None) -> None:
    assert COMPRESSION.coding_for("gzip, br", headers, size) == coding
    assert COMPRESSION.coding_for(None, headers, size) == (None if coding is None else IDENTITY)
    assert ResponseCompression(CompressionSettings(enabled=False)).coding_for("br", headers, size) is None


def test_a_compressed_body_has_a_weak_tag_and_a_line_of_vary() -> None:
    headers = [("etag", '"a"'), ("content-length", "9"), ("vary", "Accept")]

    assert encoded_headers(headers, "br") == [
        ("etag", 'W/"a"'), ("vary", "Accept"), ("content-encoding", "br"), ("vary", "Accept-Encoding"),
    ]  # fmt: skip
    assert encoded_headers(headers, IDENTITY) == [*headers, ("vary", "Accept-Encoding")]
    assert encoded_headers([("etag", 'W/"a"')], "br")[0] == ("etag", 'W/"a"')


@pytest.mark.parametrize(
    ("condition", "tag"),
    [('W/"a"', 'W/"a"'), ('"b", W/"a"', 'W/"a"'), ('"a"', '"a"'), (None, '"a"'), ("*", '"a"')],
)
def test_304_names_the_tag_that_the_client_has(condition: str | None, tag: str) -> None:
    assert weakened([("etag", '"a"')], condition)[0] == ("etag", tag)


# Where a secret and a text of an attacker may stand in one body


@pytest.mark.parametrize(
    ("method", "path", "headers", "secret"),
    [
        ("GET", "/rest/v1/items", {}, False),
        ("GET", "/rest/v1/items", {"cookie": "a=b"}, False),
        ("POST", "/auth/v1/token", {}, True),
        ("GET", "/auth/v1/user", {}, True),
        ("GET", "/auth/v1/admin/users", {}, True),
        ("GET", "/auth/v1/authorize", {}, True),
        ("POST", "/auth/v1/settings", {}, True),
        ("GET", "/auth/v1/settings", {}, False),
        ("HEAD", "/auth/v1/.well-known/jwks.json", {}, False),
        ("GET", "/.well-known/openid-configuration", {}, False),
        ("GET", "/functions/v1/hello", {}, False),
        ("GET", "/functions/v1/hello", {"cookie": "session=1"}, True),
        ("GET", "/functions/v1/hello", {"authorization": "Basic YTpi"}, True),
        ("GET", "/functions/v1/hello", {"authorization": "Bearer a"}, False),
        ("GET", "/storage/v1/s3/bucket/a.txt", {}, True),
        ("GET", "/storage/v1/object/public/bucket/a.txt", {}, False),
        ("GET", "/metrics", {}, False),
    ],
)
def test_what_may_hold_a_secret_beside_a_foreign_text_is_not_compressed(
    method: str, path: str, headers: dict[str, str], secret: bool
) -> None:
    match = route_of(path, method)
    route, below = match or (None, "")
    request = GatewayRequest(None, "", method, 0, path, "", [], headers, route, below, ())  # type: ignore[arg-type]  # no socket

    assert is_secret(request) is secret


# Over a socket


@pytest.mark.parametrize("accept", ["zstd", "br", "gzip"])
async def test_a_long_answer_arrives_compressed_and_whole(gateway: RunningGateway, accept: str) -> None:
    body = said(
        headers=[["content-type", "application/json"], ["etag", '"t"'], ["vary", "Accept"]], body=LONG
    )

    plain = await gateway.ask("POST", "/rest/v1/say", {}, body)
    coded = await gateway.ask("POST", "/rest/v1/say", {"Accept-Encoding": accept}, body)

    assert DECODE[accept](coded.body) == plain.body == LONG.encode()
    assert len(coded.body) < len(LONG) / 3
    assert (coded.header("content-encoding"), plain.header("content-encoding")) == (accept, None)
    assert (coded.header("etag"), plain.header("etag")) == ('W/"t"', '"t"')
    assert coded.all("vary") == plain.all("vary") == ["Accept", "Accept-Encoding"]
    assert coded.header("content-length") == str(len(coded.body))


async def test_a_short_answer_is_sent_as_it_is(gateway: RunningGateway) -> None:
    body = said(headers=[["content-type", "application/json"], ["etag", '"t"']], body="[]")

    reply = await gateway.ask("POST", "/rest/v1/say", {"Accept-Encoding": BROWSER}, body)

    assert (reply.body, reply.header("etag"), reply.all("vary")) == (b"[]", '"t"', [])


async def test_compression_can_be_switched_off_and_set(nats: NatsServer, pool: Pool) -> None:
    body = said(headers=[["content-type", "text/plain"]], body="word " * 1000)
    sent = {"Accept-Encoding": "gzip"}
    off = Gateway(compression=CompressionSettings(enabled=False))
    late = Gateway(compression=CompressionSettings(threshold=10_000))

    for settings in (off, late):
        async with running_gateway(nats.url, gateway=settings) as gateway:
            reply = await gateway.ask("POST", "/rest/v1/say", sent, body)
        assert (reply.header("content-encoding"), reply.all("vary"), len(reply.body)) == (None, [], 5000)


async def test_a_stream_of_bytes_is_left_alone(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/rest/v1/stream", {"Accept-Encoding": BROWSER})

    assert (reply.header("content-encoding"), reply.body) == (None, LARGE)


@pytest.mark.parametrize("accept", ["zstd", "br", "gzip"])
@pytest.mark.parametrize("sized", ["", "-sized"])
async def test_a_long_stream_of_text_is_compressed_as_it_comes(
    gateway: RunningGateway, accept: str, sized: str
) -> None:
    reply = await gateway.ask("GET", f"/rest/v1/text{sized}", {"Accept-Encoding": accept})

    assert (reply.header("content-encoding"), reply.header("content-length")) == (accept, None)
    assert DECODE[accept](reply.body) == LARGE.hex().encode()
    assert reply.all("vary") == ["Accept-Encoding"]


@pytest.mark.parametrize("accept", ["zstd", "br", "gzip"])
async def test_a_stream_that_pauses_can_be_read_up_to_there(
    gateway: RunningGateway, pool: Pool, accept: str
) -> None:
    decoder = {
        "zstd": zstd.ZstdDecompressor().decompress,
        "br": brotli.Decompressor().process,
        "gzip": zlib.decompressobj(31).decompress,
    }[accept]
    id = fresh_id()
    async with gateway.connect() as wire:
        sent = {"Accept-Encoding": accept, "X-Request-Id": id, "apikey": KEYS.anon_key}
        await wire.send(head_of("GET", "/rest/v1/drip-text", sent))
        head = await wire.head()
        first = decoder(await wire.piece())
        pool.let_go[id].set()
        rest = b""
        while piece := await wire.piece():
            rest += decoder(piece)

    assert (head.header("content-encoding"), first, rest) == (accept, b"first", b"last")


async def test_head_has_the_head_of_get_without_its_length(gateway: RunningGateway) -> None:
    sent = {"Accept-Encoding": "gzip"}

    page = await gateway.ask("HEAD", "/rest/v1/long-text", sent)

    assert (page.status, page.body, page.header("content-length")) == (200, b"", None)
    assert (page.header("content-encoding"), page.all("vary")) == ("gzip", ["Accept-Encoding"])


async def test_a_long_body_is_compressed_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "THREAD_BYTES", 10)
    settings = Encoders(CompressionSettings())
    encoder = settings.encoder("br")

    assert brotli.decompress(await settings.compress("br", b"word " * 100)) == b"word " * 100
    pieces = [await encoders.encoded_piece(encoder, b"word " * 100), encoder.finish()]
    assert brotli.decompress(b"".join(pieces)) == b"word " * 100


async def test_a_response_without_a_body_is_untouched() -> None:
    match = route_of("/rest/v1/items")
    assert match is not None
    request = GatewayRequest(None, "", "GET", 0, "", "", [], {"accept-encoding": "br"}, *match, ())  # type: ignore[arg-type]  # no socket

    for status in (204, 304):
        response = Response(status, [("content-type", "application/json")], b"")
        assert await COMPRESSION.compressed(request, response) is response
