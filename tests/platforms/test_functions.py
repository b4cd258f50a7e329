"""Hosted functions through a whole platform: keys and tokens, CORS, streams, WebSockets, hot reload, logs."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.platform import Platform, platform
from tests.platforms.conftest import token

HELLO = (
    "Deno.serve((req) => Response.json({ authorization: req.headers.get('authorization'), url: req.url }));"
)
OPEN = "Deno.serve((req) => new Response(req.headers.get('x-forwarded-prefix')));"
CORS = """Deno.serve((req) => new Response(req.method, { headers: {
  "access-control-allow-origin": "https://mine.example", "access-control-allow-headers": "x-mine" } }));"""
SOCKET = """Deno.serve((req) => {
  if (req.headers.get("upgrade") !== "websocket") return new Response("no socket", { status: 426 });
  const { socket, response } = Deno.upgradeWebSocket(req);
  socket.onmessage = (e) => { if (e.data === "bye") socket.close(1000, "so long"); else socket.send(typeof e.data === "string" ? `echo ${e.data}` : e.data); };
  return response;
});"""
CALLS_BACK = """Deno.serve(async () => {
  const answer = await fetch(Deno.env.get("SUPABASE_URL") + "/rest/v1/", { headers: { apikey: Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")! } });
  return new Response(String(answer.status));
});"""
COUNTS = """Deno.serve(async (req) => { let n = 0; for await (const piece of req.body!) n += piece.length; return new Response(String(n)); });"""
SECRETS = "Deno.serve(() => Response.json({ greeting: Deno.env.get('GREETING'), own: Deno.env.get('OWN') ?? null, missing: Deno.env.get('MISSING') ?? null }));"
EVENTS = """let go = (_: unknown) => {};
Deno.serve((req) => { if (req.method === "POST") { go(0); return new Response(); }
  return new Response(new ReadableStream({ async start(c) { c.enqueue("data: 1\\n\\n"); await new Promise((r) => go = r); c.enqueue("data: 2\\n\\n"); c.close(); } })
    .pipeThrough(new TextEncoderStream()), { headers: { "content-type": "text/event-stream" } }); });"""
PEEKS = """Deno.serve(async () => { const answer = await fetch(Deno.env.get("SUPABASE_URL") + "/metrics");
  await answer.body?.cancel(); return new Response(String(answer.status)); });"""
SECRET = {"PROJECT_GREETING": "greeting-of-the-project", "PROJECT_OWN": "own-of-one-function"}
METRICS = {"HEADWATER_GATEWAY_METRICS_TOKEN": "a token for the metrics"}
CONFIG = """
[edge_runtime.secrets]
GREETING = "env(PROJECT_GREETING)"
MISSING = "env(THERE_IS_NO_SUCH_NAME)"
[functions.open]
verify_jwt = false
[functions.socket]
verify_jwt = false
[functions.secrets]
verify_jwt = false
[functions.secrets.env]
OWN = "env(PROJECT_OWN)"
[functions.events]
verify_jwt = false
[functions.off]
enabled = false
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with functions."""
    folder = tmp_path_factory.mktemp("functions")
    sources = {
        "hello": HELLO, "open": OPEN, "cors": CORS, "calls": CALLS_BACK, "counts": COUNTS, "off": OPEN,
        "socket": SOCKET, "secrets": SECRETS, "others": SECRETS, "events": EVENTS, "peeks": PEEKS,
    }  # fmt: skip
    for name, source in sources.items():
        write(folder, name, source)
    (folder / "supabase" / "config.toml").write_text(CONFIG)
    return folder


@pytest.fixture(scope="module")
def served(project: Path) -> Iterator[Platform]:
    """A platform of that project."""
    with platform("--project", str(project), environment=SECRET | METRICS) as one:
        wait_for(lambda: one.get("/functions/v1/hello")[0] == 200)
        yield one


def write(project: Path, name: str, source: str) -> None:
    folder = project / "supabase" / "functions" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.ts").write_text(source)


def wait_for(check: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


@pytest.fixture
async def http(served: Platform) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(base_url=f"{served.url}/") as session:
        yield session


async def test_keys_of_every_kind_stand_for_a_token(served: Platform, http: aiohttp.ClientSession) -> None:
    values = served.values
    anon, service = f"Bearer {values['ANON_KEY']}", f"Bearer {values['SERVICE_ROLE_KEY']}"
    user = f"Bearer {token(served, sub='ada')}"
    cases = [
        ({"apikey": values["ANON_KEY"]}, anon),
        ({"apikey": values["PUBLISHABLE_KEY"]}, anon),
        ({"apikey": values["SECRET_KEY"]}, service),
        ({"Authorization": f"Bearer {values['PUBLISHABLE_KEY']}"}, anon),
        ({"Authorization": f"Bearer {values['SECRET_KEY']}"}, service),
        ({"apikey": values["PUBLISHABLE_KEY"], "Authorization": user}, user),
        ({"Authorization": anon}, anon),
    ]
    for headers, expected in cases:
        async with http.get("functions/v1/hello", headers=headers) as answer:
            assert (await answer.json())["authorization"] == expected, headers


async def test_what_is_no_token_is_refused_in_the_words_of_the_reference(
    served: Platform, http: aiohttp.ClientSession
) -> None:
    good = token(served, sub="ada")
    cases = {
        "UNAUTHORIZED_NO_AUTH_HEADER": {},
        "UNAUTHORIZED_INVALID_JWT_FORMAT": {"Authorization": "Bearer nonsense"},
        "UNAUTHORIZED_LEGACY_JWT": {
            "Authorization": f"Bearer {good[:-3]}abc",
            "apikey": served.values["ANON_KEY"],
        },
    }
    cases_more = [
        ("UNAUTHORIZED_INVALID_JWT_FORMAT", {"Authorization": "Basic YTpi"}),
        ("UNAUTHORIZED_INVALID_JWT_FORMAT", {"apikey": "sb_publishable_wrong"}),
        ("UNAUTHORIZED_LEGACY_JWT", {"Authorization": f"Bearer {token(served, exp=1)}"}),
    ]
    for code, headers in [*cases.items(), *cases_more]:
        async with http.get(
            "functions/v1/hello", headers={**headers, "Origin": "https://a.example"}
        ) as answer:
            assert answer.status == 401, headers
            assert (await answer.json())["code"] == code
            assert answer.headers["sb-error-code"] == code
            assert answer.headers["x-relay-error"] == "true"
            assert answer.headers["access-control-allow-origin"] == "*"


async def test_preflights_are_answered_by_the_function_or_by_the_gateway(http: aiohttp.ClientSession) -> None:
    asked = {
        "Origin": "https://a.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-own",
    }
    async with http.options("functions/v1/cors", headers=asked) as own:
        assert own.headers.getall("access-control-allow-origin") == ["https://mine.example"]
        assert own.headers["access-control-allow-headers"] == "x-mine"
    async with http.options("functions/v1/missing", headers=asked) as by_gateway:
        assert by_gateway.status == 200
        assert "x-own" in by_gateway.headers["access-control-allow-headers"]
    async with http.post("functions/v1/missing", headers={"Origin": "https://a.example"}) as missing:
        assert missing.status == 404
        assert missing.headers["access-control-allow-origin"] == "*"


async def test_a_function_calls_back_and_takes_long_bodies(
    served: Platform, http: aiohttp.ClientSession
) -> None:
    key = {"apikey": served.values["ANON_KEY"]}

    async def body() -> AsyncIterator[bytes]:
        for _ in range(96):
            yield bytes(1 << 20)

    async with http.get("functions/v1/calls", headers=key) as answer:
        assert await answer.text() == "200"
    async with http.post("functions/v1/counts", headers=key, data=body()) as answer:
        assert await answer.text() == str(96 << 20)


async def test_a_websocket_speaks_both_ways_until_it_is_closed(
    served: Platform, http: aiohttp.ClientSession
) -> None:
    key = {"apikey": served.values["ANON_KEY"]}
    large = bytes(range(256)) * 8192

    async with http.get("functions/v1/socket", headers=key) as plain:
        assert plain.status == 426
    async with asyncio.timeout(30), http.ws_connect("functions/v1/socket", headers=key) as socket:
        await socket.send_str("one")
        assert await socket.receive_str() == "echo one"
        await socket.send_bytes(large)
        assert await socket.receive_bytes() == large
        await socket.send_str("bye")
        closed = await socket.receive()
        assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 1000)


async def test_a_socket_that_a_function_does_not_take_is_answered_as_a_request(
    served: Platform, http: aiohttp.ClientSession
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await http.ws_connect("functions/v1/hello")

    assert refused.value.status == 401


def test_a_saved_function_runs_at_once_and_a_broken_one_says_so(served: Platform, project: Path) -> None:
    write(project, "hot", "Deno.serve(() => new Response('one'));")
    wait_for(lambda: served.get("/functions/v1/hot") == (200, b"one"))

    write(project, "hot", "Deno.serve(() => new Response('two'));")
    wait_for(lambda: served.get("/functions/v1/hot") == (200, b"two"))
    write(project, "hot", "Deno.serve(() => new Response(")
    wait_for(lambda: served.get("/functions/v1/hot")[0] == 503)

    assert json.loads(served.get("/functions/v1/hot")[1])["code"] == "BOOT_ERROR"


async def test_the_settings_of_the_project_hold(served: Platform, http: aiohttp.ClientSession) -> None:
    async with http.get("functions/v1/open") as answer:
        assert await answer.text() == "/functions/v1"
    async with http.get("functions/v1/off", headers={"apikey": served.values["ANON_KEY"]}) as answer:
        assert answer.status == 404
    async with http.get("functions/v1/secrets") as answer:
        assert await answer.json() == {
            "greeting": SECRET["PROJECT_GREETING"], "own": SECRET["PROJECT_OWN"], "missing": None,
        }  # fmt: skip
    async with http.get("functions/v1/others", headers={"apikey": served.values["ANON_KEY"]}) as answer:
        assert await answer.json() == {"greeting": SECRET["PROJECT_GREETING"], "own": None, "missing": None}
    logs = b"".join(file.read_bytes() for file in (served.data / "logs").rglob("*") if file.is_file())
    assert b"functions" in logs
    assert not [value for value in SECRET.values() if value.encode() in logs]


async def test_events_come_through_the_gateway_one_by_one(http: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(30), http.get("functions/v1/events") as answer:
        assert answer.content_type == "text/event-stream"
        assert await answer.content.readuntil(b"\n\n") == b"data: 1\n\n"
        async with http.post("functions/v1/events") as told:
            assert told.status == 200
        assert await answer.content.read() == b"data: 2\n\n"


async def test_metrics_are_not_for_functions_where_they_have_a_token(
    served: Platform, http: aiohttp.ClientSession
) -> None:
    async with http.get("functions/v1/peeks", headers={"apikey": served.values["ANON_KEY"]}) as answer:
        assert await answer.text() == "403"


def test_the_first_function_of_a_project_is_found_while_it_runs() -> None:
    with platform() as bare:
        assert bare.get("/functions/v1/hello")[0] == 404
        assert bare.get("/health/ready")[0] == 200

        write(bare.data.parent, "hello", HELLO)

        wait_for(lambda: bare.get("/functions/v1/hello")[0] == 200)
