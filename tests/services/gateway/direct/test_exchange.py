"""Requests that are answered without aiohttp: the same answers as the usual way gives, on the same connection, in their order."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.requests.serve import serve
from broker.subjects import AUTH, FUNCTIONS, POSITIONS
from schemas.caller import ServiceCaller
from schemas.http import Headers
from schemas.keys.secret import Secret
from schemas.positions import POSITION, CallerPosition
from schemas.settings.tree import Gateway
from services.gateway.direct import connection as direct_connection
from services.middleware.caller_key import CallerKeys
from tests.broker.server import NatsServer
from tests.services.gateway.direct.direct_counts import Counts
from tests.services.gateway.pool import LARGE, Pool, SayRequest, echo
from tests.services.gateway.running_gateway import KEYS, RunningGateway, running_gateway
from tests.services.gateway.wire import Reply, Wire, connected, head_of

KEY = {"apikey": KEYS.anon_key}
_WAITS_S = 60
_USUAL = {"Expect": "nothing-special"}
"""A header that makes a request take the usual way."""


def get(path: str, **headers: str) -> bytes:
    """Return a GET of a path of REST with the public key."""
    return head_of("GET", f"/rest/v1{path}", {**KEY, **headers})


def say(response: SayRequest, **headers: str) -> bytes:
    """Return a request that the pool answers with this response."""
    body = msgspec.json.encode(response)
    pairs = {**KEY, "Content-Length": str(len(body)), **headers}
    return head_of("POST", "/rest/v1/say", pairs) + body


async def asked(wire: Wire, request: bytes) -> Reply:
    await wire.send(request)
    return await wire.reply()


async def settled(wire: Wire) -> None:
    """Answer one request in the usual way, so that the connection's task waits for the next."""
    assert (await asked(wire, get("/echo", **_USUAL))).status == 200


@pytest.mark.parametrize(
    "response",
    [
        SayRequest(200, [("content-type", "application/json")], "[]"),
        SayRequest(200, [], "no type"),
        SayRequest(
            200, [("content-type", "text/plain"), ("content-length", "7"), ("connection", "close")], "text"
        ),
        SayRequest(200, [("set-cookie", "a=1"), ("set-cookie", "b=2")], ""),
        SayRequest(201, [("location", "/items?id=eq.1"), ("vary", "Accept")], ""),
        SayRequest(204, [("content-range", "*/*")], ""),
        SayRequest(304, [("etag", '"a"')], ""),
        SayRequest(
            404, [("content-type", "application/json"), ("date", "Thu, 01 Jan 1970 00:00:00 GMT")], "{}"
        ),
        SayRequest(299, [("x-request-id", "of the pool"), ("x-odd", "a\r\nb")], "odd", "Something\nElse"),
        SayRequest(200, [("content-type", "text/plain")], "long " * 1000),
    ],
)
async def test_a_response_has_the_head_that_aiohttp_makes_of_it(
    gateway: RunningGateway, counts: Counts, response: SayRequest
) -> None:
    sent = {"x-request-id": "r-1", "accept-encoding": "gzip", "if-none-match": 'W/"a"'}
    async with gateway.connect() as wire:
        await settled(wire)
        direct = await asked(wire, say(response, **sent))
        began = counts.direct
        usual = await asked(wire, say(response, **sent, **_USUAL))

    assert (began, counts.direct, counts.resumed) == (1, 1, 0)
    assert (direct.status, direct.reason, direct.body) == (usual.status, usual.reason, usual.body)
    assert _without_time(direct.headers) == _without_time(usual.headers)


def _without_time(headers: Headers) -> Headers:
    return sorted((name, "" if name == "date" else value) for name, value in headers)


async def test_known_headers_are_read_again_when_they_change(gateway: RunningGateway, counts: Counts) -> None:
    async with gateway.connect() as wire:
        await settled(wire)
        replies = [await asked(wire, get(f"/a?id=eq.{number}", Prefer="count=exact")) for number in range(3)]
        other = await asked(wire, get("/a?id=eq.9", Prefer="count=none"))
        unknown = await asked(wire, head_of("GET", "/rest/v1/a", {"apikey": "wrong"}))
        last = await asked(wire, get("/a?id=eq.10", Prefer="count=none"))

    assert counts.known == 2
    assert [reply.json()["query"] for reply in replies] == ["id=eq.0", "id=eq.1", "id=eq.2"]
    assert all(["prefer", "count=exact"] in reply.json()["headers"] for reply in replies)
    assert ["prefer", "count=none"] in other.json()["headers"]
    assert unknown.status == 401
    assert last.json()["query"] == "id=eq.10"


@pytest.mark.parametrize(
    "first", [b"POST /rest/v1/b HTTP/1.1\r\nX-Rest: ", b"GET /rest/v1/b HTTP/1.1\r\nX-Rest: "]
)
async def test_bytes_like_a_known_request_inside_of_a_head_are_no_request(
    gateway: RunningGateway, counts: Counts, first: bytes
) -> None:
    """A request line that continues an earlier head is the value of a header, whatever the connection has seen before."""
    known = get("/a")
    async with gateway.connect() as wire:
        await settled(wire)
        await asked(wire, known)
        await wire.send(first)
        await _taken(gateway)
        await wire.send(known)
        reply = await wire.reply()
        again = await asked(wire, get("/c"))

    assert reply.json()["path"] == "/b"
    assert ["x-rest", "GET /rest/v1/a HTTP/1.1"] in reply.json()["headers"]
    assert again.json()["path"] == "/c"
    assert "x-rest" not in [name for name, _ in again.json()["headers"]]


async def _taken(gateway: RunningGateway) -> None:
    """Return when the gateway has read what was sent before: it has answered another connection since."""
    for _ in range(3):
        assert (await gateway.ask("GET", "/rest/v1/echo")).status == 200


async def test_the_body_of_a_request_is_no_request(gateway: RunningGateway, counts: Counts) -> None:
    known = get("/a")
    async with gateway.connect() as wire:
        await settled(wire)
        await asked(wire, known)
        pairs = {**KEY, "Content-Length": str(len(known))}
        await wire.send(head_of("POST", "/rest/v1/echo", pairs))
        await _taken(gateway)
        reply = await asked(wire, known)
        again = await asked(wire, known)

    assert (reply.json()["method"], reply.json()["size"]) == ("POST", len(known))
    assert again.json()["path"] == "/a"


def post(body: bytes, **headers: str) -> bytes:
    """Return a POST of a body to the pool, which answers with what it received."""
    return head_of("POST", "/rest/v1/echo", {**KEY, "Content-Length": str(len(body)), **headers}) + body


def length_in(reply: Reply) -> str:
    return str(dict(reply.json()["headers"])["content-length"])


async def test_a_known_post_is_read_with_its_own_body_and_length(
    gateway: RunningGateway, counts: Counts
) -> None:
    bodies = [b"one", b"three", b"a body of some bytes", b"x" * 5000, b"\r\n\r\n"]
    async with gateway.connect() as wire:
        await settled(wire)
        replies = [await asked(wire, post(body)) for body in bodies]
        other = await asked(wire, post(b"other", Prefer="count=none"))
        get_reply = await asked(wire, get("/a"))

    assert counts.known == len(bodies) - 1
    assert [reply.json()["size"] for reply in replies] == [len(body) for body in bodies]
    assert [length_in(reply) for reply in replies] == [str(len(body)) for body in bodies]
    assert ["prefer", "count=none"] in other.json()["headers"]
    assert get_reply.json()["path"] == "/a"


async def test_a_known_post_whose_body_comes_later_or_is_followed_by_a_request_is_parsed(
    gateway: RunningGateway, counts: Counts
) -> None:
    whole = post(b"body")
    async with gateway.connect() as wire:
        await settled(wire)
        await asked(wire, whole)
        await wire.send(whole[:-2])
        await _taken(gateway)
        late = await asked(wire, whole[-2:])
        await wire.send(whole + get("/a"))
        both = [await wire.reply(), await wire.reply()]
        zero = await asked(wire, whole.replace(b": 4", b": 04"))

    assert counts.known == 0
    assert late.json()["size"] == 4
    assert [reply.json()["path"] for reply in both] == ["/echo", "/a"]
    assert (zero.status, zero.json()["size"]) == (200, 4)


@pytest.mark.parametrize("further", ["Transfer-Encoding: chunked\r\n", "Content-Length: 4\r\n"])
async def test_a_post_with_two_lengths_is_never_known(
    gateway: RunningGateway, counts: Counts, further: str
) -> None:
    doubled = post(b"body").replace(b"apikey", further.encode() + b"apikey", 1)
    async with gateway.connect() as wire:
        await settled(wire)
        known = await asked(wire, post(b"body"))
        refused = await asked(wire, doubled)

    assert (known.status, refused.status, counts.known) == (200, 400, 0)


async def test_the_answer_to_a_known_post_may_take_the_usual_way(
    gateway: RunningGateway, counts: Counts
) -> None:
    async with gateway.connect() as wire:
        await settled(wire)
        for _ in range(2):
            request = head_of("POST", "/rest/v1/large", {**KEY, "Content-Length": "4"}) + b"body"
            reply = await asked(wire, request)
            assert (reply.status, reply.body) == (200, LARGE)
        after = await asked(wire, post(b"after"))

    assert after.json()["size"] == 5


async def test_pipelined_requests_are_answered_in_their_order(
    gateway: RunningGateway, pool: Pool, counts: Counts
) -> None:
    async with gateway.connect() as wire:
        await settled(wire)
        await wire.send(get("/hang", **{"x-request-id": "slow"}))
        async with asyncio.timeout(_WAITS_S):
            await pool.arrived["slow"].wait()
        await wire.send(get("/a") + get("/b", **_USUAL) + get("/large") + get("/c"))
        await _taken(gateway)
        pool.let_go["slow"].set()
        replies = [await wire.reply() for _ in range(5)]

    assert [reply.status for reply in replies] == [200] * 5
    assert replies[0].body == b'"let go"'
    assert [replies[place].json()["path"] for place in (1, 2, 4)] == ["/a", "/b", "/c"]
    assert replies[3].body == LARGE


async def test_more_than_may_be_held_back_is_read_after_the_response(
    gateway: RunningGateway, pool: Pool, counts: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_connection, "_MOST_HELD_BACK", 100)
    async with gateway.connect() as wire:
        await settled(wire)
        await wire.send(get("/hang", **{"x-request-id": "held"}))
        async with asyncio.timeout(_WAITS_S):
            await pool.arrived["held"].wait()
        await wire.send(get("/a"))
        await _taken(gateway)
        await wire.send(get("/b"))
        pool.let_go["held"].set()
        replies = [await wire.reply() for _ in range(3)]

    assert [reply.body == b'"let go"' for reply in replies] == [True, False, False]
    assert [reply.json()["path"] for reply in replies[1:]] == ["/a", "/b"]


@pytest.mark.parametrize("path", ["/large", "/sized"])
async def test_a_streamed_reply_is_sent_by_the_usual_way(
    gateway: RunningGateway, counts: Counts, path: str
) -> None:
    async with gateway.connect() as wire:
        await settled(wire)
        for _ in range(2):  # the second time the head is known
            reply = await asked(wire, get(path))
            assert (reply.status, reply.body) == (200, LARGE)
        after = await asked(wire, get("/a"))

    assert counts.resumed >= 1  # the second may come while the task of the connection still ends the first
    assert after.json()["path"] == "/a"


async def test_a_client_that_goes_away_cancels_its_request(
    gateway: RunningGateway, pool: Pool, counts: Counts
) -> None:
    async with gateway.connect() as wire:
        await settled(wire)
        await wire.send(get("/hang", **{"x-request-id": "gone"}))
        async with asyncio.timeout(_WAITS_S):
            await pool.arrived["gone"].wait()
        began = counts.direct
        wire.abort()
        async with asyncio.timeout(_WAITS_S):
            await pool.cancelled["gone"].wait()

    assert began == 1


async def test_without_a_worker_the_answer_is_503(lonely: RunningGateway, counts: Counts) -> None:
    async with connected(lonely.port) as wire:
        first = await asked(wire, get("/a"))
        second = await asked(wire, get("/a"))

    assert (first.status, second.status) == (503, 503)
    assert counts.direct >= 1
    assert counts.resumed == counts.direct


async def test_an_error_of_the_worker_is_its_answer(gateway: RunningGateway, counts: Counts) -> None:
    async with gateway.connect() as wire:
        await settled(wire)
        refused = await asked(wire, get("/refuse"))
        crashed = await asked(wire, get("/crash"))

    assert (refused.status, crashed.status, counts.direct) == (418, 500, 2)


async def test_a_known_head_does_not_keep_the_position_of_an_earlier_write(
    nats: NatsServer, gateway: RunningGateway, counts: Counts
) -> None:
    keys = {"apikey": KEYS.secret_key}
    writer = CallerKeys().key_of(ServiceCaller(), KEYS.secret_key, lambda: "127.0.0.1")
    publisher = await NatsConnection.open(nats.url, name="worker")
    try:
        async with asyncio.timeout(_WAITS_S), gateway.connect() as wire:
            for token in ("aa.60000", "bb.60000"):
                publisher.publish(POSITIONS.name, encode(CallerPosition(writer, token)))
                positions: list[str] = []
                while token not in positions:
                    reply = await asked(wire, head_of("GET", "/rest/v1/a", keys))
                    positions = [value for name, value in reply.json()["headers"] if name == POSITION]
                last = await asked(wire, head_of("GET", "/rest/v1/a", keys))
                assert positions == [token]
                assert [value for name, value in last.json()["headers"] if name == POSITION] == [token]
    finally:
        await publisher.close()

    assert counts.known > 0


async def test_a_body_that_comes_later_is_read(gateway: RunningGateway, counts: Counts) -> None:
    async with gateway.connect() as wire:
        await settled(wire)
        await wire.send(head_of("POST", "/rest/v1/echo", {**KEY, "Content-Length": "4"}))
        await _taken(gateway)
        reply = await asked(wire, b"body")

    assert reply.json()["size"] == 4


@pytest.fixture
async def auth_gateway(nats: NatsServer) -> AsyncIterator[RunningGateway]:
    """A gateway behind a trusted proxy, with pools of auth and functions that answer with what arrived."""
    connection = await NatsConnection.open(nats.url, name="two pools")
    serving = [await serve(connection, pool, echo, concurrency=4, queue=64) for pool in (AUTH, FUNCTIONS)]
    settings, auth = (
        Gateway(trusted_proxies=["127.0.0.0/8"]),
        {"enabled": True, "sb_forwarded_for_enabled": True},
    )
    try:
        async with running_gateway(nats.url, settings, auth=auth) as gateway:
            yield gateway
    finally:
        for each in serving:
            await each.stop()
        await connection.close()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/auth/v1/user", b""),
        ("POST", "/auth/v1/token?grant_type=refresh_token", b'{"refresh_token":"abc"}'),
        ("GET", "/auth/v1/verify?token=1", b""),
        ("DELETE", "/auth/v1/factors/1", b""),
        ("GET", "/functions/v1/hello?n=1", b""),
        ("POST", "/functions/v1/hello/below", b'{"n":1}'),
    ],
)
async def test_a_request_to_auth_or_a_function_arrives_as_in_the_usual_way(
    auth_gateway: RunningGateway, counts: Counts, method: str, path: str, body: bytes
) -> None:
    sent = {
        **KEY,
        "Authorization": f"Bearer {KEYS.anon_key}",
        "x-request-id": "a-1",
        "sb-forwarded-for": "203.0.113.9",
        "x-forwarded-for": "198.51.100.7",
        "Content-Length": str(len(body)),
    }
    async with auth_gateway.connect() as wire:
        await asked(wire, head_of(method, path, sent | _USUAL) + body)
        direct = await asked(wire, head_of(method, path, sent) + body)
        began = counts.direct
        usual = await asked(wire, head_of(method, path, sent | _USUAL) + body)

    assert (began, counts.direct, counts.resumed) == (1, 1, 0)
    assert (direct.status, usual.status) == (200, 200)
    assert [name for name, _ in _without_time(direct.headers)] == [
        name for name, _ in _without_time(usual.headers)
    ]
    assert _arrived(direct) == _arrived(usual)
    # The gateway reads Supabase's own header for auth alone.
    assert _arrived(direct)["client"] == ("203.0.113.9" if path.startswith("/auth") else "198.51.100.7")


def _arrived(reply: Reply) -> dict[str, object]:
    """Return what arrived at the pool, without the header that makes a request take the usual way."""
    arrived = dict(reply.json())
    arrived["headers"] = [pair for pair in arrived["headers"] if pair[0] != "expect"]
    return arrived


@pytest.fixture
async def secret_gateway(nats: NatsServer) -> AsyncIterator[RunningGateway]:
    """A gateway that trusts whoever shows a secret, with an auth pool that says what arrived."""
    connection = await NatsConnection.open(nats.url, name="auth pool")
    serving = await serve(connection, AUTH, echo, concurrency=4, queue=64)
    settings = Gateway(trusted_proxies=["127.0.0.0/8"], proxy_secret=Secret("shown-by-the-front"))
    auth = {"enabled": True, "sb_forwarded_for_enabled": True}
    try:
        async with running_gateway(nats.url, settings, auth=auth) as gateway:
            yield gateway
    finally:
        await serving.stop()
        await connection.close()


_FORGED = {"X-Forwarded-For": "198.51.100.7", "Sb-Forwarded-For": "203.0.113.9"}


@pytest.mark.parametrize(
    ("shown", "client"),
    [
        ({}, "127.0.0.1"),
        ({"Headwater-Proxy-Secret": "guessed"}, "127.0.0.1"),
        ({"Headwater-Proxy-Secret": "shown-by-the-front"}, "198.51.100.7"),
        ({"Headwater-Proxy-Secret": "shown-by-the-front", "Connection": "keep-alive"}, "198.51.100.7"),
    ],
)
async def test_a_program_on_this_machine_names_clients_only_if_it_shows_the_secret(
    secret_gateway: RunningGateway, counts: Counts, shown: dict[str, str], client: str
) -> None:
    """The usual way, directly, and by a head that the connection repeats; the pool never sees the secret."""
    request = head_of("GET", "/auth/v1/user", KEY | _FORGED | shown)
    async with secret_gateway.connect() as wire:
        replies = [
            await asked(wire, head_of("GET", "/auth/v1/user", KEY | _FORGED | shown | _USUAL)),
            await asked(wire, request),
            await asked(wire, request),
        ]

    assert counts.direct == 2
    for reply in replies:
        arrived = _arrived(reply)
        assert arrived["client"] == client
        assert "headwater-proxy-secret" not in dict(arrived["headers"])


@pytest.mark.parametrize(
    ("cookies", "arrived"),
    [
        ("headwater_session=secret", []),
        ("a=1; headwater_session=secret; b=2", ["a=1; b=2"]),
        (" __Host-headwater_session=secret;a=1", ["a=1"]),
        ("headwater_session = secret", []),
        ("not_headwater_session=1; headwater_sessions=2", ["not_headwater_session=1; headwater_sessions=2"]),
    ],
)
async def test_the_session_of_an_administrator_reaches_no_code_of_the_project(
    auth_gateway: RunningGateway, counts: Counts, cookies: str, arrived: list[str]
) -> None:
    sent = KEY | {"Cookie": cookies}
    async with auth_gateway.connect() as wire:
        usual = await asked(wire, head_of("GET", "/auth/v1/user", sent | _USUAL))
        direct = [await asked(wire, head_of("GET", "/auth/v1/user", sent)) for _ in range(2)]

    assert counts.direct == 2
    for reply in (usual, *direct):
        assert [value for name, value in reply.json()["headers"] if name == "cookie"] == arrived


@pytest.mark.parametrize("key", ["wrong", ""])
async def test_a_request_to_auth_without_a_valid_key_is_rejected(
    auth_gateway: RunningGateway, key: str
) -> None:
    async with auth_gateway.connect() as wire:
        await asked(wire, head_of("GET", "/auth/v1/user", KEY | _USUAL))
        rejected = await asked(wire, head_of("GET", "/auth/v1/user", {"apikey": key}))

    assert rejected.status == 401


async def test_known_headers_of_auth_are_recognized(auth_gateway: RunningGateway, counts: Counts) -> None:
    async with auth_gateway.connect() as wire:
        await asked(wire, head_of("GET", "/auth/v1/user", KEY | _USUAL))
        paths = [(await asked(wire, head_of("GET", "/auth/v1/user", KEY))).json()["path"] for _ in range(3)]

    assert (counts.known, paths) == (2, ["/user"] * 3)
