"""HTTP in, messages out, and back: to the letter, at every size, whatever the client or the worker does."""

import asyncio
import base64
import hashlib
import json
from contextlib import suppress
from typing import cast

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request

from broker.requests.call import Calls
from schemas.http import INLINE_LIMIT
from schemas.settings.tree import Gateway
from services.gateway.requests.forward import BodyRejected, Forwarder
from services.gateway.requests.transfer_rate import TransferLimits
from tests.broker.server import NatsServer
from tests.services.gateway.pool import LARGE, Pool, running_pool
from tests.services.gateway.running_gateway import KEYS, RunningGateway, fresh_id, running_gateway
from tests.services.gateway.wire import chunked, head_of

KEY = ("apikey", KEYS.anon_key)
MIB = 1 << 20


def said(**parts: object) -> bytes:
    """Return the body that makes `/say` answer so."""
    return json.dumps(parts).encode()


# What a worker gets


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/rest/v1/items", "/items", ""),
        ("/rest/v1", "/", ""),
        ("/rest/v1/", "/", ""),
        ("/rest/v1/items?select=a,b&a=eq.1", "/items", "select=a,b&a=eq.1"),
        ("/rest/v1/items?", "/items", ""),
        ("/rest/v1/a%20b%2Fc%25?x=%2B+%26", "/a%20b%2Fc%25", "x=%2B+%26"),
        ("/rest/v1/%e2%82%ac?%e2%82%ac=%FF", "/%e2%82%ac", "%e2%82%ac=%FF"),
        ("/rest/v1//a//b/", "//a//b/", ""),
        ("/rest/v1/a/../b/./c", "/a/../b/./c", ""),
        ("/rest/v1/items?a=1&a=2&&b&=c", "/items", "a=1&a=2&&b&=c"),
        ("/rest/v1/items?a=b?c=d/e:f@g", "/items", "a=b?c=d/e:f@g"),
        ("/rest/v1/items?a=eq.%22x%22&or=(a.eq.1,b.eq.2)", "/items", "a=eq.%22x%22&or=(a.eq.1,b.eq.2)"),
        ('/rest/v1/items?a="x"|y^z`{}[]', "/items", 'a="x"|y^z`{}[]'),
        ("http://elsewhere.test/rest/v1/items?a=1", "/items", "a=1"),
    ],
)
async def test_path_and_query_arrive_to_the_letter(
    gateway: RunningGateway, target: str, path: str, query: str
) -> None:
    reply = await gateway.ask("GET", target)

    assert (reply.status, reply.json()["path"], reply.json()["query"]) == (200, path, query)


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "PROPFIND", "TRACE"])
async def test_every_method_arrives(gateway: RunningGateway, method: str) -> None:
    reply = await gateway.ask(method, "/rest/v1/items")

    assert (reply.status, reply.json()["method"]) == (200, method)


async def test_headers_arrive_in_order_repeated_and_in_utf_8(gateway: RunningGateway) -> None:
    sent = [("Prefer", "count=exact"), ("X-Name", "Zoë, 鍵"), ("prefer", "return=minimal"), ("X-Empty", "")]

    reply = await gateway.ask("GET", "/rest/v1/items", sent)

    got = [tuple(pair) for pair in reply.json()["headers"] if pair[0] in ("prefer", "x-name", "x-empty")]
    assert got == [(name.lower(), value) for name, value in sent]


async def test_a_header_that_is_no_utf_8_is_marked(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", {"X-Name": "caf\udce9"})

    assert ["x-name", "caf\ufffd"] in reply.json()["headers"]


async def test_headers_of_this_hop_do_not_travel(gateway: RunningGateway) -> None:
    hop = {
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
        "Keep-Alive": "timeout=5",
        "Proxy-Authorization": "Basic eA==",
        "Proxy-Authenticate": "Basic",
        "Proxy-Connection": "keep-alive",
        "TE": "trailers",
        "Trailer": "x-sum",
        "Upgrade": "h2c",
    }

    reply = await gateway.ask("GET", "/rest/v1/items", {**hop, "X-Kept": "1"})

    names = {name for name, _ in reply.json()["headers"]}
    assert "x-kept" in names
    assert not names & {name.lower() for name in hop}


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
async def test_a_client_cannot_take_away_what_a_proxy_said_of_it(gateway: RunningGateway, name: str) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", {"Connection": f"close, {name}", name: "198.51.100.1"})

    assert [name.lower(), "198.51.100.1"] in reply.json()["headers"]


async def test_keys_and_tokens_travel_with_the_request(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", {"Authorization": "Basic eA=="})

    assert ["apikey", KEYS.anon_key] in reply.json()["headers"]
    assert ["authorization", "Basic eA=="] in reply.json()["headers"]


async def test_the_worker_learns_the_budget_and_the_id(nats: NatsServer, pool: Pool) -> None:
    async with running_gateway(nats.url, Gateway(request_timeout=12.5)) as gateway:
        reply = await gateway.ask("GET", "/rest/v1/items", {"X-Request-Id": "mine"})

    assert (reply.json()["budget_ms"], reply.json()["id"]) == (12500, "mine")


# Bodies of requests


@pytest.mark.parametrize(
    "size", [0, 1, 1000, INLINE_LIMIT - 1, INLINE_LIMIT, INLINE_LIMIT + 1, 3 * MIB, len(LARGE)]
)
async def test_a_body_that_fits_is_part_of_the_message_and_a_longer_one_is_streamed(
    gateway: RunningGateway, size: int
) -> None:
    body = LARGE[:size]

    got = (await gateway.ask("POST", "/rest/v1/items", {}, body)).json()

    assert (got["size"], got["sha256"]) == (size, hashlib.sha256(body).hexdigest())
    assert got["is_streamed"] is (size > INLINE_LIMIT)


@pytest.mark.parametrize(
    "pieces",
    [[], [b"x"], [b"a" * 1000] * 3, [LARGE[:INLINE_LIMIT]], [LARGE[:MIB], b"y", LARGE[MIB:]]],
    ids=["none", "one", "some", "a message", "large"],
)
async def test_a_chunked_body_of_unknown_length_arrives(gateway: RunningGateway, pieces: list[bytes]) -> None:
    head = head_of("POST", "/rest/v1/items", [KEY, ("Transfer-Encoding", "chunked")])

    got = (await gateway.send(head + chunked(*pieces))).json()

    assert got["sha256"] == hashlib.sha256(b"".join(pieces)).hexdigest()
    assert "transfer-encoding" not in {name for name, _ in got["headers"]}


async def test_a_body_that_comes_in_drops_is_put_together(gateway: RunningGateway) -> None:
    async with gateway.connect() as wire:
        await wire.send(head_of("POST", "/rest/v1/items", [KEY, ("Content-Length", "5")]))
        for letter in b"drops":
            await wire.send(bytes([letter]))
        reply = await wire.reply()

    assert reply.json()["sha256"] == hashlib.sha256(b"drops").hexdigest()


async def test_a_compressed_body_is_left_as_it_is(gateway: RunningGateway) -> None:
    reply = await gateway.ask("POST", "/rest/v1/items", {"Content-Encoding": "gzip"}, b"not gzip at all")

    assert reply.json()["sha256"] == hashlib.sha256(b"not gzip at all").hexdigest()


async def test_requests_in_one_go_are_answered_in_their_order(gateway: RunningGateway) -> None:
    async with gateway.connect() as wire:
        bodies = [b"one", b"second", b""]
        heads = [
            head_of("POST", f"/rest/v1/{len(b)}", [KEY, ("Content-Length", str(len(b)))]) for b in bodies
        ]
        await wire.send(b"".join(head + body for head, body in zip(heads, bodies, strict=True)))
        replies = [await wire.reply() for _ in bodies]

    assert [(reply.json()["path"], reply.json()["size"]) for reply in replies] == [
        ("/3", 3),
        ("/6", 6),
        ("/0", 0),
    ]


async def test_a_request_that_offers_http_2_is_answered_with_its_body(gateway: RunningGateway) -> None:
    offer = {
        "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": "h2c",
        "HTTP2-Settings": "AAMAAABkAAQCAAAAAAIAAAAA",
    }

    reply = await gateway.ask("POST", "/rest/v1/items", offer, b"body")

    assert (reply.status, reply.json()["size"]) == (200, 4)


async def test_a_client_that_asks_whether_to_go_on_is_told_so(gateway: RunningGateway) -> None:
    async with gateway.connect() as wire:
        await wire.send(
            head_of("POST", "/rest/v1/items", [KEY, ("Content-Length", "4"), ("Expect", "100-continue")])
        )
        first = asyncio.ensure_future(wire.head())
        done, _ = await asyncio.wait({first}, timeout=3)
        first.cancel()
        assert done
        assert first.result().status == 100
        await wire.send(b"body")
        reply = await wire.reply()

    assert (reply.status, reply.json()["size"]) == (200, 4)


# Bodies that are refused


async def test_a_body_that_is_too_long_is_refused_before_it_is_read(strict: RunningGateway) -> None:
    reply = await strict.send(
        head_of("POST", "/rest/v1/items", [KEY, ("Content-Length", str(600 * 1024 + 1))])
    )

    assert (reply.status, reply.json()["code"]) == (413, "413")


async def test_a_chunked_body_is_refused_when_it_has_become_too_long(strict: RunningGateway) -> None:
    async with strict.connect() as wire:
        await wire.send(head_of("POST", "/rest/v1/items", [KEY, ("Transfer-Encoding", "chunked")]))
        await wire.send(chunked(b"x" * 600 * 1024)[:-5])
        await wire.send(b"1\r\nx\r\n")
        reply = await wire.reply()

    assert (reply.status, reply.json()["code"]) == (413, "413")


@pytest.mark.parametrize(("size", "is_refused"), [(1000, False), (1001, True)])
async def test_a_chunked_body_that_came_with_its_head_is_held_to_the_limit(
    size: int, is_refused: bool
) -> None:
    """As the gateway reads it where it answers itself, without waiting for pieces."""
    loop = asyncio.get_running_loop()
    body = StreamReader(BaseProtocol(loop), 1 << 16, loop=loop)
    body.feed_data(bytes(size))
    body.feed_eof()
    request = make_mocked_request("POST", "/", {"Transfer-Encoding": "chunked"}, payload=body)
    limits = TransferLimits.of(Gateway())
    calls = cast(Calls, None)  # nothing is sent
    reading = Forwarder(calls, max_body=1000, limits=limits, request_timeout=1).read(request)

    if is_refused:
        with pytest.raises(BodyRejected):
            await reading
    else:
        assert await reading == bytes(size)


async def test_a_body_as_long_as_may_be_passes(strict: RunningGateway) -> None:
    reply = await strict.ask("POST", "/rest/v1/items", {}, b"x" * 600 * 1024)

    assert (reply.status, reply.json()["size"]) == (200, 600 * 1024)


@pytest.mark.parametrize(
    "framing",
    [("Content-Length", "10"), ("Content-Length", str(INLINE_LIMIT + 10)), ("Transfer-Encoding", "chunked")],
    ids=["inline", "streamed", "chunked"],
)
async def test_a_body_that_stops_arriving_is_refused(
    strict: RunningGateway, framing: tuple[str, str]
) -> None:
    part = b"5\r\nabcde\r\n" if framing[1] == "chunked" else b"abcde"
    async with strict.connect() as wire:
        await wire.send(head_of("POST", "/rest/v1/items", [KEY, framing]) + part)
        reply = await wire.reply()

        assert (reply.status, reply.json()["message"]) == (408, "The body did not arrive in time")
        assert await wire.rest() == b""


@pytest.mark.parametrize(
    ("area", "framing"),
    [
        ("rest", ("Content-Length", "100000")),
        ("rest", ("Content-Length", str(INLINE_LIMIT * 2))),
        ("rest", ("Transfer-Encoding", "chunked")),
        ("functions", ("Content-Length", "100000")),
    ],
    ids=["inline", "streamed", "chunked", "to a function"],
)
async def test_a_body_that_drips_is_refused(
    nats: NatsServer, pool: Pool, area: str, framing: tuple[str, str]
) -> None:
    del pool
    drop = b"1\r\nx\r\n" if framing[1] == "chunked" else b"x"
    patience = Gateway(body_timeout=60, body_rate=100_000, body_rate_window=0.3)
    async with running_gateway(nats.url, patience) as gateway, gateway.connect() as wire:
        await wire.send(head_of("POST", f"/{area}/v1/items", [KEY, framing]))
        answering = asyncio.ensure_future(wire.reply())
        while not (await asyncio.wait({answering}, timeout=0.02))[0]:
            with suppress(ConnectionError):
                await wire.send(drop)
        reply = await answering

        assert reply.status == 408
        assert reply.json() == {
            **reply.json(),
            "code": "408",
            "message": "The body came too slowly: less than 100000 bytes a second over 0.3 seconds",
        }


async def test_a_slow_body_passes_where_no_rate_is_asked_for(nats: NatsServer, pool: Pool) -> None:
    del pool
    patience = Gateway(body_timeout=60, body_rate=0, body_rate_window=0.01)
    async with running_gateway(nats.url, patience) as gateway, gateway.connect() as wire:
        await wire.send(head_of("POST", "/rest/v1/items", [KEY, ("Content-Length", "5")]))
        with pytest.raises(TimeoutError):  # nothing is said while the body is awaited
            await asyncio.wait_for(wire.rest(), 0.1)
        await wire.send(b"abcde")
        reply = await wire.reply()

    assert (reply.status, reply.json()["size"]) == (200, 5)


async def test_a_body_with_broken_chunks_is_refused(gateway: RunningGateway) -> None:
    head = head_of("POST", "/rest/v1/items", [KEY, ("Transfer-Encoding", "chunked")])

    assert (await gateway.send(head + b"zz\r\nabc\r\n")).status == 400


async def test_a_body_whose_chunks_break_on_the_way_is_refused(strict: RunningGateway, pool: Pool) -> None:
    id = fresh_id()
    async with strict.connect() as wire:
        framing = ("Transfer-Encoding", "chunked")
        await wire.send(head_of("POST", "/rest/v1/items", [KEY, framing, ("X-Request-Id", id)]))
        await wire.send(b"3\r\nabc\r\n")
        await asyncio.wait_for(pool.arrived[id].wait(), 60)
        await wire.send(b"zz\r\nabc\r\n")
        reply = await wire.reply()

    assert reply.status in (
        400,
        408,
    )  # the HTTP parser does not tell the reader of the body: it hears no more


async def test_a_body_shorter_than_its_length_never_reaches_a_worker_as_whole(
    gateway: RunningGateway, pool: Pool
) -> None:
    id = fresh_id()
    async with gateway.connect() as wire:
        await wire.send(
            head_of("POST", "/rest/v1/items", [KEY, ("Content-Length", "10"), ("X-Request-Id", id)]) + b"abc"
        )
        wire.finish()
        answer = await wire.rest()

    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert not pool.arrived[id].is_set()


# What a client gets


async def test_status_headers_reason_and_body_come_as_the_worker_said(gateway: RunningGateway) -> None:
    headers = [
        ["content-range", "0-1/*"],
        ["x-twice", "1"],
        ["x-twice", "2"],
        ["x-name", "Zoë 鍵"],
        ["x-empty", ""],
    ]
    body = said(status=299, headers=headers, body="done", reason="Fine Enough")

    reply = await gateway.ask("POST", "/rest/v1/say", {}, body)

    assert (reply.status, reply.reason, reply.body) == (299, "Fine Enough", b"done")
    assert reply.all("x-twice") == ["1", "2"]
    assert [pair for pair in reply.headers if pair[0] in ("content-range", "x-name", "x-empty")] == [
        ("content-range", "0-1/*"), ("x-name", "Zoë 鍵"), ("x-empty", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("status", [200, 201, 204, 206, 300, 304, 404, 409, 416, 500, 599])
async def test_a_response_without_a_body_says_so_unless_its_status_does(
    gateway: RunningGateway, status: int
) -> None:
    lengths = {204: {None}, 304: {None, "0"}}.get(status, {"0"})
    async with gateway.connect() as wire:
        body = said(status=status)
        await wire.send(head_of("POST", "/rest/v1/say", [KEY, ("Content-Length", str(len(body)))]) + body)
        reply = await wire.reply()
        await wire.send(head_of("GET", "/rest/v1/next", [KEY]))

        assert (reply.status, reply.header("content-type"), reply.body) == (status, None, b"")
        assert reply.header("content-length") in lengths
        assert reply.header("transfer-encoding") is None
        assert (await wire.reply()).json()["path"] == "/next"


@pytest.mark.parametrize("path", ["/items", "/large", "/stream", "/sized", "/refuse", "/crash"])
async def test_head_is_answered_without_a_body(gateway: RunningGateway, path: str) -> None:
    async with gateway.connect() as wire:
        await wire.send(head_of("HEAD", f"/rest/v1{path}", [KEY]))
        reply = await wire.reply("HEAD")
        await wire.send(head_of("GET", "/rest/v1/next", [KEY]))

        assert reply.status == {"/refuse": 418, "/crash": 500}.get(path, 200)
        assert reply.header("content-type")
        assert (await wire.reply()).json()["path"] == "/next"


@pytest.mark.parametrize("path", ["/large", "/stream", "/sized"])
async def test_a_long_answer_arrives_whole(gateway: RunningGateway, path: str) -> None:
    reply = await gateway.ask("GET", f"/rest/v1{path}")

    assert hashlib.sha256(reply.body).digest() == hashlib.sha256(LARGE).digest()
    assert reply.header("content-type") == "application/octet-stream"
    assert reply.header("content-length") == (None if path == "/stream" else str(len(LARGE)))
    assert reply.header("x-request-id")
    assert reply.header("access-control-allow-origin") == "*"


async def test_a_long_answer_is_sent_to_a_client_of_http_1_0(gateway: RunningGateway) -> None:
    head = f"GET /rest/v1/stream HTTP/1.0\r\napikey: {KEYS.anon_key}\r\n\r\n".encode()

    reply = await gateway.send(head)

    assert reply.header("transfer-encoding") is None
    assert hashlib.sha256(reply.body).digest() == hashlib.sha256(LARGE).digest()


async def test_pieces_are_sent_as_they_are_made(gateway: RunningGateway, pool: Pool) -> None:
    id = fresh_id()
    async with gateway.connect() as wire:
        await wire.send(head_of("GET", "/rest/v1/drip", [KEY, ("X-Request-Id", id)]))
        await wire.head()

        assert await wire.piece() == b"first"
        pool.let_go[id].set()
        assert (await wire.piece(), await wire.piece()) == (b"last", b"")


async def test_a_long_body_and_a_long_answer_pass_on_one_connection(gateway: RunningGateway) -> None:
    async with gateway.connect() as wire:
        for _ in range(2):
            length = ("Content-Length", str(MIB))
            await wire.send(head_of("POST", "/rest/v1/items", [KEY, length]) + LARGE[:MIB])
            assert (await wire.reply()).json()["size"] == MIB
            await wire.send(head_of("GET", "/rest/v1/large", [KEY]))
            assert len((await wire.reply()).body) == len(LARGE)


async def test_a_long_body_that_nobody_reads_does_not_hinder_the_answer(gateway: RunningGateway) -> None:
    reply = await gateway.ask("POST", "/rest/v1/large", {}, LARGE[: INLINE_LIMIT + 1])

    assert len(reply.body) == len(LARGE)


@pytest.mark.parametrize("path", ["/cut", "/cut-sized"])
async def test_an_answer_that_breaks_off_ends_the_connection(gateway: RunningGateway, path: str) -> None:
    async with gateway.connect() as wire:
        await wire.send(head_of("GET", f"/rest/v1{path}", [KEY]))
        received = await wire.rest(until=b" 503 ")

    assert received.count(b"HTTP/1.1") <= 1
    assert b"\r\n0\r\n" not in received
    assert received.partition(b"\r\n\r\n")[2] in (b"x" * 100, b"64\r\n" + b"x" * 100 + b"\r\n", b"")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\r\nx-more: b", "a  x-more: b"),
        ("a\nb", "a b"),
        ("a\x00b", "a b"),
        ("a\x01b", "a b"),
        ("a\x7fb", "a b"),
        ("a\x1bb", "a b"),
    ],
)
async def test_a_header_with_control_characters_stays_one_header(
    gateway: RunningGateway, value: str, shown: str
) -> None:
    reply = await gateway.ask("POST", "/rest/v1/say", {}, said(headers=[["x-note", value]]))

    assert (reply.status, reply.all("x-note"), reply.header("x-more")) == (200, [shown], None)


@pytest.mark.parametrize("reason", ["two\nlines", "two\r\nlines"])
async def test_a_reason_of_two_lines_is_sent_as_one(gateway: RunningGateway, reason: str) -> None:
    reply = await gateway.ask("POST", "/rest/v1/say", {}, said(status=402, reason=reason, body="x"))

    assert reply.status == 402
    assert reply.reason.split() == ["two", "lines"]


@pytest.mark.parametrize(
    "header",
    [
        ["content-length", "2"],
        ["content-length", "50"],
        ["transfer-encoding", "chunked"],
        ["connection", "close"],
    ],
    ids=lambda header: header[1],
)
async def test_only_the_gateway_frames_responses(gateway: RunningGateway, header: list[str]) -> None:
    async with gateway.connect() as wire:
        body = said(headers=[header], body="whole")
        first = head_of("POST", "/rest/v1/say", [KEY, ("Content-Length", str(len(body)))])
        await wire.send(first + body + head_of("GET", "/rest/v1/next", [KEY, ("Connection", "close")]))
        received = (await wire.rest()).lower()

    head, _, rest = received.partition(b"\r\n\r\n")
    assert b"\r\ncontent-length: 5\r\n" in head + b"\r\n"
    assert head.count(b"\r\ncontent-length:") == 1
    assert b"\r\ntransfer-encoding:" not in head
    assert b"\r\nconnection:" not in head
    assert rest.startswith(b"wholehttp/1.1 200 ok\r\n")


# Failures


async def test_a_refusal_of_the_worker_passes(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/rest/v1/refuse")

    assert (reply.status, reply.json()) == (418, {"message": "short and stout"})


async def test_a_crash_of_the_worker_shows_its_id_and_nothing_of_the_inside(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/rest/v1/crash", {"X-Request-Id": "crash-7"})

    assert (reply.status, reply.json()["request_id"], reply.header("x-request-id")) == (
        500,
        "crash-7",
        "crash-7",
    )
    assert b"inside of the worker" not in reply.body


async def test_without_a_worker_the_answer_is_503_with_a_time(lonely: RunningGateway) -> None:
    reply = await lonely.ask("GET", "/rest/v1/items")

    assert (reply.status, reply.header("retry-after")) == (503, "1")
    assert reply.json()["message"] == "no rest worker is running"


async def test_beyond_the_bound_of_the_gateway_the_answer_is_503_at_once(
    nats: NatsServer, pool: Pool
) -> None:
    id = fresh_id()
    async with running_gateway(nats.url, Gateway(max_in_flight=1)) as gateway:
        waiting = asyncio.ensure_future(gateway.ask("GET", "/rest/v1/hang", {"X-Request-Id": id}))
        await asyncio.wait_for(pool.arrived[id].wait(), 60)
        reply = await gateway.ask("GET", "/rest/v1/items")
        pool.let_go[id].set()

        assert (reply.status, reply.header("retry-after")) == (503, "1")
        assert (await waiting).status == 200
        assert (await gateway.ask("GET", "/rest/v1/items")).status == 200


async def test_beyond_the_queue_of_the_pool_the_answer_is_503_at_once(
    lonely_nats: NatsServer, lonely: RunningGateway
) -> None:
    id = fresh_id()
    async with running_pool(lonely_nats.url, concurrency=1, queue=0) as pool:
        waiting = asyncio.ensure_future(lonely.ask("GET", "/rest/v1/hang", {"X-Request-Id": id}))
        await asyncio.wait_for(pool.arrived[id].wait(), 60)
        reply = await lonely.ask("GET", "/rest/v1/items")
        pool.let_go[id].set()

        assert (reply.status, reply.header("retry-after")) == (503, "1")
        assert (await waiting).status == 200


async def test_a_request_past_its_time_is_504_and_its_work_is_cancelled(nats: NatsServer, pool: Pool) -> None:
    id = fresh_id()
    async with running_gateway(nats.url, Gateway(request_timeout=0.2)) as gateway:
        reply = await gateway.ask("GET", "/rest/v1/hang", {"X-Request-Id": id})

    assert (reply.status, reply.json()["code"], reply.header("x-request-id")) == (504, "504", id)
    await asyncio.wait_for(pool.cancelled[id].wait(), 60)


@pytest.mark.parametrize(
    ("length", "body"),
    [(0, b""), (5, b"small"), (10 * MIB, b"begun")],
    ids=["without a body", "with one", "amid its body"],
)
async def test_a_client_that_leaves_cancels_the_work(
    gateway: RunningGateway, pool: Pool, length: int, body: bytes
) -> None:
    id = fresh_id()
    headers = [KEY, ("Content-Length", str(length)), ("X-Request-Id", id)]
    async with gateway.connect() as wire:
        await wire.send(head_of("POST", "/rest/v1/hang", headers) + body)
        await asyncio.wait_for(pool.arrived[id].wait(), 60)
        wire.abort()

        await asyncio.wait_for(pool.cancelled[id].wait(), 60)


async def test_a_client_that_leaves_amid_an_answer_stops_its_source(
    gateway: RunningGateway, pool: Pool
) -> None:
    id = fresh_id()
    async with gateway.connect() as wire:
        await wire.send(head_of("GET", "/rest/v1/drip", [KEY, ("X-Request-Id", id)]))
        await wire.head()
        await wire.piece()
        wire.abort()

        await asyncio.wait_for(pool.closed[id].wait(), 60)


async def test_claims_of_a_token_reach_the_worker(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", {"Authorization": f"Bearer {KEYS.anon_key}"})

    caller = reply.json()["caller"]
    assert caller["type"] == "user"
    assert json.loads(base64.b64decode(caller["claims"]))["role"] == "anon"
