"""The edges as a process: how it starts, what it refuses to start with, and how it ends."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from broker.processes.lifecycle import BAD_SETTINGS, OK
from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.keys.secret import Secret
from schemas.settings.tree import Api, Auth, Broker, Gateway, Jwt, Settings, SettingsError
from services.app import build_authenticator
from services.gateway.requests.routes import GatewayRoute, route_of
from services.listening import request_wait_s
from tests.broker.server import NatsServer, free_port, running_server
from tests.services.gateway.pool import Pool, running_pool
from tests.services.gateway.running_gateway import KEYS, ObservedProcess, fresh_id, running_gateway, start
from tests.services.gateway.wire import connected, head_of

ROOT = Path(__file__).parents[2]
KEY = ("apikey", KEYS.anon_key)
OTHER = "another secret that is long enough for HS256"
NOW = time.time()


@pytest_asyncio.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module")
async def pool(nats: NatsServer) -> AsyncIterator[Pool]:
    async with running_pool(nats.url) as one:
        yield one


# The end


async def test_a_leaving_edge_says_so_and_answers_for_a_while(nats: NatsServer, pool: Pool) -> None:
    del pool
    async with running_gateway(nats.url, Gateway(drain_delay=2.0)) as gateway:
        gateway.process.stop("the test says so")
        ready = await gateway.ask("GET", "/health/ready")
        while ready.status != 503:
            ready = await gateway.ask("GET", "/health/ready")
        alive = await gateway.ask("GET", "/health/live")
        asked = await gateway.ask("GET", "/rest/v1/echo")

        assert b"leaving" in ready.body
        assert alive.status == asked.status == 200
        assert alive.header("connection") == asked.header("connection") == "close"
        assert await gateway.ended() == OK


async def test_a_request_in_flight_is_answered_before_the_end(nats: NatsServer, pool: Pool) -> None:
    id = fresh_id()
    async with running_gateway(nats.url) as gateway, gateway.connect() as wire:
        await wire.send(head_of("GET", "/rest/v1/hang", [KEY, ("X-Request-Id", id)]))
        await asyncio.wait_for(pool.arrived[id].wait(), 60)
        gateway.process.stop("the test says so")
        await closed(gateway.port)
        pool.let_go[id].set()

        assert (await wire.reply()).status == 200
        assert await wire.rest() == b""
        assert await gateway.ended() == OK


async def test_a_long_answer_in_flight_is_sent_to_its_end(nats: NatsServer, pool: Pool) -> None:
    id = fresh_id()
    async with running_gateway(nats.url) as gateway, gateway.connect() as wire:
        await wire.send(head_of("GET", "/rest/v1/drip", [KEY, ("X-Request-Id", id)]))
        await wire.head()
        await wire.piece()
        gateway.process.stop("the test says so")
        await closed(gateway.port)
        pool.let_go[id].set()

        assert (await wire.piece(), await wire.piece()) == (b"last", b"")
        assert await gateway.ended() == OK


async def test_a_connection_that_was_just_accepted_is_answered_before_the_end(
    nats: NatsServer, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    del pool
    monkeypatch.setattr("services.listening._FIRST_HEAD_S", 60.0)  # the client may be slow here
    async with running_gateway(nats.url, drain_timeout=100.0) as edge, edge.connect() as wire:
        await edge.ask("GET", "/health/live")  # connections are accepted in their order
        edge.process.stop("the test ends it")
        await closed(edge.port)
        await wire.send(head_of("GET", "/rest/v1/items", [KEY]))

        reply = await wire.reply()
        assert (reply.status, reply.header("connection")) == (200, "close")
        assert await edge.ended() == OK


async def test_connections_at_rest_do_not_hinder_the_end(nats: NatsServer, pool: Pool) -> None:
    async with (
        running_gateway(nats.url, drain_timeout=100.0) as gateway,  # `ended` gives up long before that
        gateway.connect() as used,
        gateway.connect() as fresh,
    ):
        await used.send(head_of("GET", "/rest/v1/items", [KEY]))
        await used.reply()
        gateway.process.stop("the test says so")

        assert await gateway.ended() == OK
        assert (await used.rest(), await fresh.rest()) == (b"", b"")


async def test_a_request_that_takes_too_long_is_given_up_at_the_end(nats: NatsServer, pool: Pool) -> None:
    id = fresh_id()
    async with running_gateway(nats.url, drain_timeout=4.0) as gateway, gateway.connect() as wire:
        await wire.send(head_of("GET", "/rest/v1/hang", [KEY, ("X-Request-Id", id)]))
        await asyncio.wait_for(pool.arrived[id].wait(), 60)
        gateway.process.stop("the test says so")

        assert await gateway.ended() == OK
        assert await wire.rest() == b""
        await asyncio.wait_for(pool.cancelled[id].wait(), 60)


async def test_the_process_answers_what_it_has_begun_when_it_is_terminated(
    nats: NatsServer, pool: Pool
) -> None:
    id, port = fresh_id(), free_port()
    listening, ready = os.pipe()
    environment = {
        **os.environ,
        "HEADWATER_BROKER_URL": nats.url,
        "HEADWATER_API_PORT": str(port),
        "HEADWATER_READY_FD": str(ready),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "services", "gateway",
        cwd=ROOT, env=environment, pass_fds=[ready], stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        os.close(ready)
        told = await asyncio.wait_for(asyncio.to_thread(os.read, listening, 16), 30)
        async with connected(port) as wire:
            await wire.send(head_of("GET", "/rest/v1/hang", [KEY, ("X-Request-Id", id)]))
            await asyncio.wait_for(pool.arrived[id].wait(), 60)
            process.send_signal(signal.SIGTERM)
            await closed(port)
            pool.let_go[id].set()
            reply = await wire.reply()
        code = await asyncio.wait_for(process.wait(), 60)
    finally:
        os.close(listening)
        if process.returncode is None:
            process.kill()
        await process.communicate()

    assert (told[:6], reply.status, code) == (b"ready\n", 200, OK)


async def test_an_edge_takes_what_waits_at_an_inherited_socket_and_ends_its_listening(
    nats: NatsServer,
) -> None:
    port = free_port()
    listening, ready = os.pipe()
    with socket.create_server(("127.0.0.1", port)) as kept:
        async with connected(port) as wire:  # the kernel takes the connection; no edge runs yet
            await wire.send(head_of("GET", "/health/live", []))
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "services", "gateway",
                cwd=ROOT, pass_fds=[ready, kept.fileno()],
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, "HEADWATER_BROKER_URL": nats.url, "HEADWATER_API_PORT": str(port),
                     "HEADWATER_READY_FD": str(ready), "HEADWATER_LISTEN_FDS": str(kept.fileno())},
            )  # fmt: skip
            try:
                os.close(ready)
                await asyncio.wait_for(asyncio.to_thread(os.read, listening, 16), 60)
                reply = await wire.reply()
                process.send_signal(signal.SIGTERM)
                code = await asyncio.wait_for(process.wait(), 60)
            finally:
                os.close(listening)
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        await closed(port)  # although this process still holds the socket

    assert (reply.status, code) == (200, OK)


async def closed(port: int) -> None:
    """Wait until nobody takes a connection any more: the drain has begun."""
    async with asyncio.timeout(60):
        with suppress(OSError):
            while True:
                async with connected(port):
                    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("drain_s", "wait_s"),
    [(100.0, 45.0), (20.0, 9.0), (10.0, 4.0), (4.0, 1.0), (1.0, 0.25), (0.0, 0.01), (-1.0, 0.01)],
)
def test_later_steps_of_the_drain_have_time(drain_s: float, wait_s: float) -> None:
    assert request_wait_s(drain_s) == wait_s


# The start


async def run(settings: Settings) -> int:
    """Run the edges until they end by themselves; give the exit code."""
    process = ObservedProcess(settings)
    running = start(process)
    try:
        return await asyncio.wait_for(asyncio.shield(running), 60)
    finally:
        process.stop("the test is over")
        await running


async def test_without_a_broker_in_the_settings_the_process_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert await run(Settings()) == BAD_SETTINGS
    assert "the process of the edges needs broker.url (HEADWATER_BROKER_URL)" in "".join(capsys.readouterr())


async def test_a_port_that_is_taken_is_told(nats: NatsServer, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = await run(Settings(broker=Broker(url=Secret(nats.url)), api=Api(port=port)))

    assert code == BAD_SETTINGS
    assert f"cannot listen on 127.0.0.1:{port}: " in "".join(capsys.readouterr())


# Keys and verifiers of the settings


def signed(secret: str = KEYS.jwt_secret, **claims: object) -> str:
    return jwt.encode({"exp": NOW + 6000, **claims}, secret, algorithm="HS256")


def caller(settings: Settings, path: str, key: str | None, token: str | None = None) -> Caller:
    route = route_of(path)
    assert route is not None
    authorization = None if token is None else f"Bearer {token}"
    return build_authenticator(settings).caller(route[0], key, authorization, NOW)


@pytest.mark.parametrize(
    "path", ["/rest/v1/x", "/graphql/v1", "/auth/v1/x", "/storage/v1/x", "/functions/v1/x"]
)
def test_every_area_takes_the_platform_s_own_tokens(path: str) -> None:
    found = caller(Settings(), path, KEYS.anon_key, signed(role="authenticated"))

    assert isinstance(found, UserCaller)


@pytest.mark.parametrize(
    ("path", "secret", "kind"),
    [
        ("/rest/v1/x", OTHER, UserCaller),
        ("/rest/v1/x", KEYS.jwt_secret, RejectedCaller),
        ("/graphql/v1", OTHER, UserCaller),
        ("/auth/v1/x", OTHER, RejectedCaller),
        ("/auth/v1/x", KEYS.jwt_secret, UserCaller),
        ("/storage/v1/x", KEYS.jwt_secret, UserCaller),
    ],
)
def test_a_secret_of_the_data_interfaces_is_theirs_alone(path: str, secret: str, kind: type[Caller]) -> None:
    settings = Settings(api=Api(jwt=Jwt(secret=Secret(OTHER))))

    assert isinstance(caller(settings, path, KEYS.anon_key, signed(secret, role="authenticated")), kind)


def test_an_empty_secret_lets_no_token_be_verified() -> None:
    settings = Settings(api=Api(jwt=Jwt(secret=Secret(""))))
    found = caller(settings, "/rest/v1/x", KEYS.anon_key, signed(role="authenticated"))

    assert isinstance(found, RejectedCaller)
    assert found.kind == TokenFault.NO_SECRET


def test_the_audience_is_demanded_of_the_data_interfaces() -> None:
    settings = Settings(api=Api(jwt=Jwt(audience="app")))
    token = signed(role="authenticated", aud="other")

    assert isinstance(caller(settings, "/rest/v1/x", KEYS.anon_key, token), RejectedCaller)
    assert isinstance(caller(settings, "/auth/v1/x", KEYS.anon_key, token), UserCaller)


def test_signing_keys_of_a_file_verify_beside_the_secret(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    jwk = {**json.loads(ECAlgorithm.to_jwk(key)), "kid": "one", "alg": "ES256"}
    (tmp_path / "keys.json").write_text(json.dumps([jwk]))
    settings = Settings(auth=Auth(signing_keys_path=str(tmp_path / "keys.json")))
    by_file = jwt.encode({"role": "service_role"}, key, algorithm="ES256", headers={"kid": "one"})

    assert isinstance(caller(settings, "/rest/v1/x", KEYS.anon_key, by_file), UserCaller)
    assert isinstance(caller(settings, "/rest/v1/x", KEYS.anon_key, signed(role="authenticated")), UserCaller)
    assert caller(settings, "/rest/v1/x", by_file) == ServiceCaller()


def test_keys_of_the_settings_take_the_place_of_those_that_are_made() -> None:
    settings = Settings(auth=Auth(anon_key=Secret("mine"), publishable_key=Secret("sb_publishable_mine")))

    assert caller(settings, "/rest/v1/x", "mine") == AnonymousCaller()
    assert caller(settings, "/rest/v1/x", "sb_publishable_mine") == AnonymousCaller()


@pytest.mark.parametrize(
    "jwt_settings",
    [
        Jwt(secret=Secret('{"kty": "top secret"}')),
        Jwt(secret=Secret("{top secret")),
        Jwt(secret=Secret('{"keys": "top secret"}')),
    ],
)
def test_a_key_that_cannot_be_read_is_told_without_it(jwt_settings: Jwt) -> None:
    with pytest.raises(SettingsError, match="JWT keys cannot be used") as caught:
        build_authenticator(Settings(api=Api(jwt=jwt_settings)))

    assert "top secret" not in str(caught.value)


def test_a_file_of_keys_that_is_not_there_is_told() -> None:
    with pytest.raises(SettingsError, match="signing_keys_path cannot be read: No such file"):
        build_authenticator(Settings(auth=Auth(signing_keys_path="/nowhere/keys.json")))


@pytest.mark.parametrize("path", ["/functions/v1/x", "/storage/v1/object/public/a/b", "/auth/v1/verify"])
def test_where_no_key_is_demanded_none_is_an_anonymous_caller(path: str) -> None:
    assert caller(Settings(), path, None) == AnonymousCaller()


@pytest.mark.parametrize("path", ["/functions/v1/x", "/storage/v1/s3/a"])
def test_where_no_key_is_demanded_a_token_alone_is_looked_at(path: str) -> None:
    route: GatewayRoute = route_of(path)[0]  # type: ignore[index]  # it is there
    keeper = build_authenticator(Settings())

    assert isinstance(keeper.caller(route, None, f"Bearer {signed(role='authenticated')}", NOW), UserCaller)
    assert isinstance(keeper.caller(route, None, f"Bearer {signed(OTHER)}", NOW), RejectedCaller)
    assert keeper.caller(route, None, "AWS4-HMAC-SHA256 Credential=x", NOW) == AnonymousCaller()
