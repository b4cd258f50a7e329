"""The order of the gateway's questions, and its own answers in the shape of each area."""

import asyncio
import re
import time
from contextlib import suppress

import jwt
import pytest

from schemas.settings.auth import AuthRateLimits
from schemas.settings.management import Management
from schemas.settings.tree import Gateway, RateLimit
from tests.broker.server import NatsServer
from tests.services.gateway.pool import Pool
from tests.services.gateway.requests.test_forward import said
from tests.services.gateway.running_gateway import KEYS, RunningGateway, fresh_id, running_gateway
from tests.services.gateway.wire import Reply, head_of

KEY = ("apikey", KEYS.anon_key)
PAGE = "https://app.example"
MADE_ID = re.compile(r"[0-9a-f]{16}-[0-9a-f]+")
PROXY = ["127.0.0.0/8"]
BY_ADDRESS = RateLimit(per_address=0.01, per_address_burst=1)
NAMED = {"rate_limit": AuthRateLimits(header="X-Real-IP"), "sb_forwarded_for_enabled": True}


def is_marked(reply: Reply) -> bool:
    """Return whether an answer has what every answer of the gateway has: CORS and the request id."""
    return bool(reply.header("access-control-expose-headers") and reply.header("x-request-id"))


# Routes


@pytest.mark.parametrize("path", ["/rest", "/rest/v2/items", "/rest/v1x", "//rest/v1/items", "/favicon.ico"])
@pytest.mark.parametrize("key", [KEYS.anon_key, None])
async def test_a_path_of_no_area_is_not_found_with_or_without_a_key(
    gateway: RunningGateway, path: str, key: str | None
) -> None:
    reply = await gateway.ask("GET", path, key=key)

    assert reply.status == 404
    assert reply.json()["message"].startswith(f"There is nothing at {path}. ")
    assert is_marked(reply)


async def test_the_root_is_a_page_for_browsers_and_json_for_others(gateway: RunningGateway) -> None:
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    page = await gateway.ask("GET", "/", {"Accept": browser}, key=None)
    head = await gateway.ask("HEAD", "/", {"Accept": browser}, key=None)
    listing = await gateway.ask("GET", "/", {"Accept": "*/*"}, key=None)

    assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in str(page.header("content-security-policy"))
    assert page.all("vary") == listing.all("vary") == ["Accept"]
    assert (head.status, head.header("content-type"), head.body) == (200, "text/html; charset=utf-8", b"")
    assert listing.json()["areas"] == {"rest": "/rest/v1", "functions": "/functions/v1"}
    assert re.findall(rb"(?:src|@import|url)", page.body) == []
    assert re.findall(r'href="([^"]+)"', page.body.decode()) == [
        "_/",
        "/functions/v1/_internal/health",
        "/health/live",
        "/health/ready",
    ]


async def test_options_of_the_whole_server_finds_nothing_and_harms_nothing(gateway: RunningGateway) -> None:
    assert (await gateway.ask("OPTIONS", "*")).status == 404


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/graphql/v1", {"data", "errors", "message"}),
        ("/auth/v1/settings", {"code", "error_code", "msg", "error_id"}),
        ("/auth/v1/verify", {"code", "error_code", "msg", "error_id"}),
        ("/storage/v1/bucket", {"statusCode", "error", "message", "code"}),
        ("/realtime/v1/websocket", {"message"}),
    ],
)
@pytest.mark.parametrize("key", [KEYS.anon_key, None])
async def test_an_area_that_is_not_built_says_so_in_its_shape(
    gateway: RunningGateway, path: str, shape: set[str], key: str | None
) -> None:
    reply = await gateway.ask("POST", path, key=key)

    assert (reply.status, set(reply.json())) == (501, shape)
    assert is_marked(reply)


# Keys


@pytest.mark.parametrize("sent", [{}, {"Authorization": f"Bearer {KEYS.service_role_key}"}, {"apikey": ""}])
async def test_a_request_without_a_key_is_refused(gateway: RunningGateway, sent: dict[str, str]) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", sent, key=None)

    assert reply.status == 401
    assert reply.json() == {
        "code": "401",
        "message": "No API key found in request",
        "details": None,
        "hint": "No `apikey` request header or url param was found.",
    }
    assert is_marked(reply)


@pytest.mark.parametrize("key", ["nonsense", "sb_secret_nonsense", "clé", "\udcff", "x" * 10_000])
async def test_an_unknown_key_is_refused_and_not_repeated(gateway: RunningGateway, key: str) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", key=key)

    assert (reply.status, reply.json()["message"]) == (401, "Invalid API key")
    assert b"nonsense" not in reply.body
    assert is_marked(reply)


async def test_a_refused_request_reaches_no_worker(gateway: RunningGateway, pool: Pool) -> None:
    id = fresh_id()
    await gateway.ask("GET", "/rest/v1/items", {"X-Request-Id": id}, key="nonsense")
    await gateway.ask("GET", "/rest/v1/items")

    assert not pool.arrived[id].is_set()


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (KEYS.anon_key, "anonymous"),
        (KEYS.publishable_key, "anonymous"),
        (KEYS.service_role_key, "service"),
        (KEYS.secret_key, "service"),
    ],
)
@pytest.mark.parametrize("place", ["header", "query"])
async def test_a_key_says_who_calls_from_the_header_or_the_query(
    gateway: RunningGateway, key: str, kind: str, place: str
) -> None:
    if place == "header":
        reply = await gateway.ask("GET", "/rest/v1/items", key=key)
    else:
        reply = await gateway.ask("GET", f"/rest/v1/items?select=a&apikey={key}", key=None)

    assert (reply.status, reply.json()["caller"]) == (200, {"type": kind})


@pytest.mark.parametrize(
    ("query", "header", "status"),
    [
        (f"apikey={KEYS.secret_key}", "nonsense", 401),  # the header comes first
        ("apikey=nonsense", KEYS.anon_key, 200),
        (f"apikey={KEYS.anon_key}", "", 200),
        (f"apikey={KEYS.anon_key.replace('.', '%2E')}", None, 200),
        ("apikey=", None, 401),
        ("apikey=%FF%00", None, 401),
        (f"xapikey={KEYS.anon_key}", None, 401),
        (f"a=apikey={KEYS.anon_key}", None, 401),
    ],
)
async def test_a_key_in_the_query_stands_in_for_the_header(
    gateway: RunningGateway, query: str, header: str | None, status: int
) -> None:
    assert (await gateway.ask("GET", f"/rest/v1/items?{query}", key=header)).status == status


async def test_a_key_in_the_query_is_no_filter_of_the_data_interfaces(gateway: RunningGateway) -> None:
    key = KEYS.anon_key
    by_query = await gateway.ask("GET", f"/rest/v1/items?select=a&apikey={key}&b=eq.1", key=None)
    alone = await gateway.ask("GET", f"/rest/v1/items?apikey={key}", key=None)
    of_a_column = await gateway.ask("GET", "/rest/v1/items?apikey=eq.1", key=key)

    queries = [each.json()["query"] for each in (by_query, alone, of_a_column)]
    assert queries == ["select=a&b=eq.1", "", "apikey=eq.1"]


@pytest.mark.parametrize(
    ("claims", "secret", "kind"),
    [
        ({"role": "authenticated", "exp": time.time() + 86_400}, KEYS.jwt_secret, "user"),
        ({"role": "authenticated", "exp": time.time() - 600}, KEYS.jwt_secret, "rejected"),
        ({"role": "service_role"}, "a foreign secret that is long enough", "rejected"),
    ],
    ids=["good", "expired", "foreign"],
)
async def test_a_token_is_verified_and_a_bad_one_told_to_the_worker(
    gateway: RunningGateway, claims: dict[str, object], secret: str, kind: str
) -> None:
    token = jwt.encode(claims, secret, algorithm="HS256")

    reply = await gateway.ask("GET", "/rest/v1/items", {"Authorization": f"Bearer {token}"})

    assert reply.json()["caller"]["type"] == kind


# CORS


@pytest.mark.parametrize(
    "path", ["/rest/v1/items", "/auth/v1/token", "/storage/v1/bucket", "/nowhere", "/health/live"]
)
async def test_a_preflight_is_answered_on_every_path_without_a_key(
    gateway: RunningGateway, path: str
) -> None:
    asked = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "apikey, content-type",
    }

    reply = await gateway.ask("OPTIONS", path, asked, key=None)

    assert (reply.status, reply.body, reply.header("content-length")) == (200, b"", "0")
    assert reply.all("access-control-allow-origin") == ["*"]
    assert str(reply.header("access-control-allow-headers")).startswith("Authorization, apikey, content-type")
    assert "POST" in str(reply.header("access-control-allow-methods"))
    assert reply.header("access-control-max-age") == "86400"


@pytest.mark.parametrize(
    "sent",
    [{}, {"Origin": PAGE}, {"Access-Control-Request-Method": "POST"}],
    ids=["plain", "origin", "method"],
)
async def test_options_that_are_no_preflight_go_to_the_worker(
    gateway: RunningGateway, sent: dict[str, str]
) -> None:
    reply = await gateway.ask("OPTIONS", "/rest/v1/items", sent)

    assert (reply.status, reply.json()["method"]) == (200, "OPTIONS")


@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        ("/rest/v1/items", KEYS.anon_key, 200),
        ("/rest/v1/items", None, 401),
        ("/rest/v1/items", "nonsense", 401),
        ("/rest/v1/crash", KEYS.anon_key, 500),
        ("/rest/v1/refuse", KEYS.anon_key, 418),
        ("/rest/v1/stream", KEYS.anon_key, 200),
        ("/auth/v1/token", KEYS.anon_key, 501),
        ("/nowhere", None, 404),
        ("/health/live", None, 200),
    ],
)
async def test_pages_may_read_answers_and_refusals(
    gateway: RunningGateway, path: str, key: str | None, status: int
) -> None:
    reply = await gateway.ask("GET", path, {"Origin": PAGE}, key=key)

    assert (reply.status, reply.all("access-control-allow-origin")) == (status, ["*"])
    reference, added = reply.all("access-control-expose-headers")
    assert reference.endswith(
        "Transfer-Encoding, Range-Unit" if path.startswith("/rest") else "x-total-count, link"
    )
    assert added.startswith("ETag, ")


async def test_only_listed_origins_get_permission(nats: NatsServer, pool: Pool) -> None:
    async with running_gateway(nats.url, api={"cors_allowed_origins": [PAGE]}) as gateway:
        listed = await gateway.ask("GET", "/rest/v1/items", {"Origin": PAGE})
        other = await gateway.ask("GET", "/rest/v1/items", {"Origin": "https://other.example"})
        refused = await gateway.ask("GET", "/rest/v1/items", {"Origin": PAGE}, key=None)

    assert (listed.status, listed.header("access-control-allow-origin")) == (200, PAGE)
    assert listed.header("access-control-allow-credentials") == "true"
    assert (other.status, other.header("access-control-allow-origin")) == (200, None)
    assert (refused.status, refused.header("access-control-allow-origin")) == (401, PAGE)


@pytest.mark.parametrize(
    ("path", "origin", "allowed"),
    [
        ("/.well-known/oauth-protected-resource/mcp", "https://any.example", "*"),
        ("/.well-known/oauth-authorization-server/management/v1/oauth", "https://any.example", "*"),
        ("/management/v1/oauth/.well-known/openid-configuration", "https://any.example", "*"),
        ("/management/v1/oauth/register", "https://any.example", "*"),
        ("/management/v1/oauth/token", "https://any.example", "*"),
        ("/management/v1/oauth/revoke", "https://any.example", "*"),
        ("/management/v1/oauth/authorize", PAGE, None),
        ("/management/v1/operations/tokens.list", PAGE, None),
        ("/mcp", PAGE, PAGE),
        ("/mcp", "https://any.example", None),
        ("/v1/projects", PAGE, None),
    ],
)
async def test_pages_may_sign_in_as_agents_and_call_mcp_where_they_are_named(
    nats: NatsServer, pool: Pool, path: str, origin: str, allowed: str | None
) -> None:
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    async with running_gateway(nats.url, management=Management(mcp_origins=[PAGE])) as gateway:
        preflight = await gateway.ask("OPTIONS", path, asked, key=None)
        answer = await gateway.ask("POST", path, {"Origin": origin}, key=None)

    assert (preflight.header("access-control-allow-origin"), preflight.status) == (allowed, 200)
    assert answer.header("access-control-allow-origin") == allowed
    if path == "/mcp" and allowed:
        assert "Mcp-Session-Id" in str(answer.all("access-control-expose-headers"))


async def test_headers_of_the_worker_win_over_those_of_the_gateway(gateway: RunningGateway) -> None:
    own = [
        ["access-control-allow-origin", "https://chosen.example"],
        ["access-control-expose-headers", "x-own"],
        ["x-request-id", "of-the-worker"],
    ]

    reply = await gateway.ask("POST", "/rest/v1/say", {"Origin": PAGE}, said(headers=own, body="x"))

    assert [pair for pair in map(list, reply.headers) if pair[0] in {name for name, _ in own}] == own


# Request id


async def test_a_sane_request_id_is_kept_and_told_to_the_worker(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", {"X-Request-Id": "of/the:client-7"})

    assert (reply.header("x-request-id"), reply.json()["id"]) == ("of/the:client-7", "of/the:client-7")


@pytest.mark.parametrize("sent", [None, "", "with blanks", "x" * 129, "ключ"])
async def test_another_request_id_is_replaced(gateway: RunningGateway, sent: str | None) -> None:
    reply = await gateway.ask("GET", "/rest/v1/items", {} if sent is None else {"X-Request-Id": sent})

    assert MADE_ID.fullmatch(str(reply.header("x-request-id")))
    assert reply.all("x-request-id") == [reply.json()["id"]]


# Limits


async def test_an_address_with_too_many_requests_is_told_when_to_come_back(
    nats: NatsServer, pool: Pool
) -> None:
    limits = Gateway(rate_limit=RateLimit(per_address=0.01, per_address_burst=2))
    async with running_gateway(nats.url, limits) as gateway:
        replies = [await gateway.ask("GET", "/rest/v1/items") for _ in range(3)]
        live = await gateway.ask("GET", "/health/live", key=None)
        asked = {"Origin": PAGE, "Access-Control-Request-Method": "GET"}
        preflight = await gateway.ask("OPTIONS", "/rest/v1/items", asked)

    assert [reply.status for reply in replies] == [200, 200, 429]
    assert 90 <= int(replies[2].header("retry-after") or 0) <= 101
    assert replies[2].json()["message"] == "Too many requests"
    assert is_marked(replies[2])
    assert (live.status, preflight.status) == (200, 200)


async def test_a_key_with_too_many_requests_is_refused_and_others_are_not(
    nats: NatsServer, pool: Pool
) -> None:
    limits = Gateway(rate_limit=RateLimit(per_key=0.01, per_key_burst=1))
    async with running_gateway(nats.url, limits) as gateway:
        keys = [KEYS.anon_key, KEYS.anon_key, KEYS.secret_key]
        replies = [await gateway.ask("GET", "/rest/v1/items", key=key) for key in keys]

    assert [reply.status for reply in replies] == [200, 429, 200]


FIRST, SECOND = "198.51.100.1", "198.51.100.2"


@pytest.mark.parametrize(
    ("trusted_proxies", "forwarded", "statuses"),
    [
        (PROXY, [[FIRST], [SECOND], [f"6.6.6.6, {FIRST}"], [f"{FIRST}, 127.0.0.9"]], [200, 200, 429, 429]),
        (PROXY, [["2001:db8::1"], ["2001:db8::ffff:2"], ["2001:db8:0:1::1"]], [200, 429, 200]),
        (PROXY, [["6.6.6.6", FIRST], ["7.7.7.7", FIRST]], [200, 429]),
        ([], [[FIRST], [SECOND]], [200, 429]),
    ],
    ids=["a trusted proxy", "one network of IPv6", "two lines are one list", "anyone else is not believed"],
)
async def test_the_client_behind_a_trusted_proxy_is_limited_and_not_the_proxy(
    nats: NatsServer, pool: Pool, trusted_proxies: list[str], forwarded: list[list[str]], statuses: list[int]
) -> None:
    limits = Gateway(trusted_proxies=trusted_proxies, rate_limit=BY_ADDRESS)
    async with running_gateway(nats.url, limits) as gateway:
        replies = [
            await gateway.ask("GET", "/rest/v1/items", [("X-Forwarded-For", line) for line in lines])
            for lines in forwarded
        ]

    assert [reply.status for reply in replies] == statuses


async def is_limited(gateway: RunningGateway, *lines: tuple[str, str], path: str = "/auth/v1/user") -> bool:
    """Send a request with header lines; return whether the limit of its client's address was reached."""
    return (await gateway.ask("GET", path, list(lines))).status == 429


async def test_headers_that_auth_names_have_the_client_s_address(nats: NatsServer, pool: Pool) -> None:
    limits = Gateway(trusted_proxies=["127.0.0.0/8"], rate_limit=BY_ADDRESS)
    first, second, third = ("198.51.100.1", "198.51.100.2", "198.51.100.3")
    async with running_gateway(nats.url, limits, auth=NAMED) as gateway:
        assert not await is_limited(gateway, ("X-Real-IP", first), ("X-Forwarded-For", second))
        assert await is_limited(gateway, ("X-Real-IP", first), ("X-Forwarded-For", third))
        assert not await is_limited(gateway, ("X-Forwarded-For", second))
        assert await is_limited(gateway, ("Sb-Forwarded-For", second), ("X-Real-IP", third))
        assert not await is_limited(gateway, ("Sb-Forwarded-For", "unknown"), ("X-Real-IP", third))
        assert await is_limited(gateway, ("X-Real-IP", "127.0.0.5"), ("X-Forwarded-For", third))


@pytest.mark.parametrize(
    ("path", "trusted", "header"),
    [
        ("/rest/v1/items", PROXY, "X-Real-IP"),
        ("/auth/v1/user", [], "X-Real-IP"),
        ("/auth/v1/user", [], "Sb-Forwarded-For"),
        ("/auth/v1/user", ["192.0.2.0/24"], "X-Real-IP"),
        ("/auth/v1/user", ["192.0.2.0/24"], "Sb-Forwarded-For"),
    ],
)
async def test_headers_that_auth_names_count_for_auth_alone_and_from_trusted_proxies(
    nats: NatsServer, pool: Pool, path: str, trusted: list[str], header: str
) -> None:
    limits = Gateway(trusted_proxies=trusted, rate_limit=BY_ADDRESS)
    async with running_gateway(nats.url, limits, auth=NAMED) as gateway:
        assert not await is_limited(gateway, (header, FIRST), path=path)
        assert await is_limited(gateway, (header, SECOND), path=path)


async def test_one_address_does_not_use_up_the_key_of_all(nats: NatsServer, pool: Pool) -> None:
    limits = Gateway(
        trusted_proxies=["127.0.0.0/8"],
        rate_limit=RateLimit(per_address=0.01, per_address_burst=1, per_key=0.01, per_key_burst=3),
    )
    async with running_gateway(nats.url, limits) as gateway:
        for _ in range(5):
            await gateway.ask("GET", "/rest/v1/items", {"X-Forwarded-For": "198.51.100.1"})
        reply = await gateway.ask("GET", "/rest/v1/items", {"X-Forwarded-For": "198.51.100.2"})

    assert reply.status == 200


# What is no good HTTP


LONG = b"a" * (1 << 20)
MALFORMED = {
    "no HTTP": b"hello\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a header without a name": b"GET / HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n",
    "a blank in a name": b"GET / HTTP/1.1\r\nHost: x\r\nA b: x\r\n\r\n",
    "a control character": b"GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length and chunks": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length that is none": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "a signed length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na",
    "an unknown coding": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    "a byte that is no ASCII in the path": b"GET /rest/v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "UTF-8 in the query": b"GET /rest/v1/a?x=\xd0\xb8 HTTP/1.1\r\nHost: x\r\n\r\n",
}
ENDLESS = {
    "URL": b"GET /rest/v1/" + LONG,
    "method": LONG,
    "value": b"GET / HTTP/1.1\r\nHost: x\r\nA: " + LONG,
    "name": b"GET / HTTP/1.1\r\nHost: x\r\n" + LONG,
    "list": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 1000,
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_no_good_http_is_refused_and_the_connection_ended(
    gateway: RunningGateway, name: str
) -> None:
    async with gateway.connect() as wire:
        await wire.send(MALFORMED[name])
        received = await wire.rest()

    assert re.match(rb"HTTP/1\.[01] 400 ", received)
    assert len(re.findall(rb"HTTP/1\.[01] \d", received)) == 1


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_head_without_end_ends_the_connection(gateway: RunningGateway, name: str) -> None:
    async with gateway.connect() as wire:
        with suppress(ConnectionError):  # it ends before all is sent
            await wire.send(ENDLESS[name])
        received = await wire.rest()

    assert received == b"" or re.match(rb"HTTP/1\.[01] 4", received)  # nothing: when it was reset first
    assert (await gateway.ask("GET", "/rest/v1/items")).status == 200


async def test_a_malformed_request_is_rejected_in_json_and_neither_logged_nor_repeated(
    gateway: RunningGateway, caplog: pytest.LogCaptureFixture
) -> None:
    secret = KEYS.secret_key.encode()
    reply = await gateway.send(b"GET / HTTP/1.1\r\nHost: x\r\napikey: " + secret + b"\x01\r\n\r\n")

    assert (reply.status, reply.header("content-type")) == (400, "application/json; charset=utf-8")
    assert reply.json()["message"]
    assert reply.header("access-control-allow-origin") == "*"
    assert KEYS.secret_key not in caplog.text
    assert secret not in reply.body


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/rest/v1/" + "a" * 991, [], 200),
        ("/rest/v1/a?" + "b" * 989, [], 200),
        ("/rest/v1/" + "a" * 992, [], 414),
        ("/rest/v1/a?" + "b" * 990, [], 414),
        ("/nowhere" + "a" * 5000, [], 414),
        ("/rest/v1/items", [("X-Long", "a" * 1990)], 200),
        ("/rest/v1/items", [("X-Long", "a" * 2500)], 431),
        ("/rest/v1/items", [("X" * 2500, "a")], 431),
        ("/rest/v1/items", [("X", "a")] * 200, 431),
    ],
    ids=["path", "query", "path+1", "query+1", "far", "header", "value", "name", "many"],
)
async def test_urls_and_headers_as_long_as_may_be_pass_and_longer_ones_do_not(
    strict: RunningGateway, target: str, headers: list[tuple[str, str]], status: int
) -> None:
    reply = await strict.ask("GET", target, headers)

    assert reply.status == status
    if status == 414:
        assert reply.json()["message"] == "The URL is longer than 1000 characters"
    elif status == 431:
        assert reply.json()["message"]


async def test_answers_name_our_server_once_and_no_library(gateway: RunningGateway) -> None:
    replies = [
        await gateway.ask("GET", path)
        for path in ("/rest/v1/items", "/rest/v1/stream", "/nowhere", "/health/live")
    ]

    assert [reply.all("server") for reply in replies] == [["Headwater"]] * 4


async def test_a_head_that_does_not_arrive_ends_the_connection(nats: NatsServer, pool: Pool) -> None:
    async with running_gateway(nats.url, Gateway(header_timeout=0.1)) as gateway, gateway.connect() as wire:
        await wire.send(b"GET /rest/v1/items HTTP/1.1\r\nHost: ")
        rest = asyncio.ensure_future(wire.rest())
        done, _ = await asyncio.wait({rest}, timeout=3)
        rest.cancel()

    assert done


async def test_connections_are_kept_for_further_requests(gateway: RunningGateway) -> None:
    async with gateway.connect() as wire:
        statuses = []
        for path, key in (("items", "nonsense"), ("items", KEYS.anon_key), ("refuse", KEYS.anon_key)):
            await wire.send(head_of("GET", f"/rest/v1/{path}", {"apikey": key}))
            statuses.append((await wire.reply()).status)

    assert statuses == [401, 200, 418]


async def test_many_clients_at_once_get_their_own_answers(gateway: RunningGateway) -> None:
    replies = await asyncio.gather(
        *(
            gateway.ask("GET", f"/rest/v1/{number}", {"X-Request-Id": f"many-{number}"})
            for number in range(100)
        )
    )

    assert [(reply.json()["path"], reply.header("x-request-id")) for reply in replies] == [
        (f"/{number}", f"many-{number}") for number in range(100)
    ]
