"""Health, readiness and metrics, and who may see them."""

import asyncio
import base64

import pytest

from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from broker.subjects import FAULTS
from schemas.faults import Fault, FaultReport
from schemas.http import Response
from schemas.keys.secret import Secret
from services.gateway.health import Health
from services.supervisor.binaries import headwater_version
from tests.broker.server import NatsServer, running_server
from tests.services.gateway.pool import Pool, running_pool
from tests.services.gateway.running_gateway import KEYS, RunningGateway, running_gateway

TOKEN = "a token for the metrics"


async def test_a_gateway_lives_whatever_stands_behind_it(lonely: RunningGateway) -> None:
    reply = await lonely.ask("GET", "/health/live", key=None)

    assert (reply.status, reply.json()) == (200, {"status": "alive"})


async def test_health_is_read_by_get_and_head(gateway: RunningGateway) -> None:
    head = await gateway.ask("HEAD", "/health/live", key=None)
    post = await gateway.ask("POST", "/health/live", key=None)

    assert (head.status, head.body) == (200, b"")
    assert (post.status, post.header("allow")) == (405, "GET, HEAD, OPTIONS")


async def test_the_platform_is_ready_when_its_pools_are(gateway: RunningGateway) -> None:
    reply = await gateway.ask("GET", "/health/ready", key=None)

    assert reply.status == 200
    assert reply.json() == {
        "status": "ready",
        "version": headwater_version(),
        "parts": {"broker": "ok", "rest": "ok"},
    }


async def test_proxies_are_told_of_the_gateway_alone(lonely: RunningGateway, lonely_nats: NatsServer) -> None:
    reporting = await NatsConnection.open(lonely_nats.url, name="reporting")
    try:
        reporting.publish(
            FAULTS.name, encode(FaultReport("a:1", [Fault("stream CHANGES", "does not store")]))
        )
        await reporting.flush()
        async with asyncio.timeout(60):
            while (
                "stream CHANGES"
                not in (ready := await lonely.ask("GET", "/health/ready", key=None)).json()["parts"]
            ):
                pass
        gateway = await lonely.ask("GET", "/health/gateway", key=None)
        reporting.publish(FAULTS.name, encode(FaultReport("a:1", [])))
        await reporting.flush()
    finally:
        await reporting.close()

    assert (ready.status, ready.json()["parts"]["stream CHANGES"]) == (503, "does not store")
    assert (gateway.status, gateway.json()) == (200, {"status": "serving"})


async def test_without_a_pool_the_platform_is_not_ready(lonely: RunningGateway) -> None:
    reply = await lonely.ask("GET", "/health/ready", key=None)

    assert reply.status == 503
    assert reply.json()["status"] == "not ready"
    assert reply.json()["parts"] == {"broker": "ok", "rest": "no health.rest worker is running"}


@pytest.mark.parametrize(
    ("health", "shown"),
    [
        (Response(503, body=b'{"message":"the database does not answer"}'), "the database does not answer"),
        *((Response(503, body=body), "503") for body in (b"{}", b"out of order", b"[1]")),
        (Response(500), "500"),
    ],
)
async def test_a_pool_that_is_not_ready_says_why(
    lonely: RunningGateway, lonely_nats: NatsServer, health: Response, shown: str
) -> None:
    async with running_pool(lonely_nats.url) as pool:
        pool.health = health
        reply = await lonely.ask("GET", "/health/ready", key=None)

    assert (reply.status, reply.json()["parts"]["rest"]) == (503, shown)


async def test_without_a_broker_the_gateway_lives_and_is_not_ready() -> None:
    async with running_server() as nats, running_gateway(nats.url) as gateway:
        nats.kill()
        live = await gateway.ask("GET", "/health/live", key=None)
        ready = await gateway.ask("GET", "/health/ready", key=None)
        metrics = await gateway.ask("GET", "/metrics", key=KEYS.secret_key)
        rest = await gateway.ask("GET", "/rest/v1/items")

    assert live.status == 200
    assert (ready.status, ready.json()["parts"]["broker"]) == (503, "not connected")
    assert metrics.status == 200
    assert 'headwater_up{part="broker"} 0' in metrics.body.decode()
    assert (rest.status, rest.header("retry-after")) == (503, "1")


async def test_the_interface_s_own_health_is_told_by_its_status(
    lonely: RunningGateway, lonely_nats: NatsServer
) -> None:
    live = await lonely.ask("GET", "/rest-admin/v1/live", key=None)
    alone = await lonely.ask("GET", "/rest-admin/v1/ready", key=None)
    async with running_pool(lonely_nats.url):
        ready = await lonely.ask("GET", "/rest-admin/v1/ready", key=None)

    assert [(each.status, each.body) for each in (live, alone, ready)] == [(200, b""), (503, b""), (200, b"")]


@pytest.mark.parametrize("path", ["/rest-admin/v1/live", "/rest-admin/v1/ready"])
async def test_the_interface_s_own_health_is_for_this_machine(gateway: RunningGateway, path: str) -> None:
    reply = await gateway.ask("GET", path, {"X-Forwarded-For": "198.51.100.1"}, key=None)

    assert reply.status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"apikey": KEYS.anon_key}, 403),
        ({"apikey": KEYS.publishable_key, "authorization": f"Bearer {KEYS.anon_key}"}, 403),
        ({"X-Forwarded-For": "127.0.0.1"}, 403),
        ({"apikey": KEYS.secret_key}, 200),
        ({"authorization": f"Bearer {KEYS.secret_key}"}, 200),
        ({"authorization": f"Bearer {KEYS.service_role_key}"}, 200),
    ],
)
async def test_metrics_are_for_the_secret_key_also_from_this_machine(
    gateway: RunningGateway, headers: dict[str, str], status: int
) -> None:
    reply = await gateway.ask("GET", "/metrics", headers, key=None)

    assert reply.status == status
    assert (b"# TYPE headwater_calls_in_flight gauge" in reply.body) == (status == 200)


def _basic(password: str, name: str = "service_role") -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (_basic(KEYS.service_role_key), 200),
        (_basic(KEYS.secret_key), 200),
        (f"Bearer {KEYS.secret_key}", 200),
        (_basic(KEYS.anon_key), 401),
        (_basic(KEYS.publishable_key), 401),
        (_basic(""), 401),
        ("Basic", 401),
        ("Basic \u20ac", 401),
        ("Basic /w==", 401),
        (None, 401),
    ],
)
async def test_scrapers_of_hosted_projects_find_the_metrics_where_they_look(
    gateway: RunningGateway, authorization: str | None, status: int
) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    reply = await gateway.ask("GET", "/customer/v1/privileged/metrics", headers, key=None)

    assert reply.status == status
    assert (b"# TYPE headwater_calls_in_flight gauge" in reply.body) == (status == 200)


@pytest.mark.parametrize(
    ("token", "peer", "authorization", "status"),
    [
        (TOKEN, "127.0.0.1", None, 403),
        (TOKEN, "::1", None, 403),
        (TOKEN, "127.0.0.1", f"Bearer {TOKEN}", 200),
        (TOKEN, "198.51.100.1", None, 403),
        (TOKEN, "198.51.100.1", f"Bearer {TOKEN}", 200),
        (TOKEN, "198.51.100.1", f"Bearer {TOKEN} ", 403),
        (TOKEN, "198.51.100.1", TOKEN, 403),
        (TOKEN, "198.51.100.1", "Bearer another", 403),
        (TOKEN, "198.51.100.1", "Bearer ключ", 403),
        (TOKEN, "198.51.100.1", "", 403),
        *((None, "127.0.0.1", sent, 403) for sent in (None, "Bearer ", "Bearer None", "Bearer ***")),
    ],
)
async def test_metrics_are_for_the_token_of_the_settings_alone(
    nats: NatsServer, pool: Pool, token: str | None, peer: str, authorization: str | None, status: int
) -> None:
    connection = await NatsConnection.open(nats.url, name="health")
    try:
        health = Health(connection, Calls(connection), None if token is None else Secret(token))
        answer = await health.answer("/metrics", peer, authorization)
    finally:
        await connection.close()

    assert answer.status == status
    assert TOKEN.encode() not in answer.body


@pytest.mark.parametrize(
    "path", ["/health", "/health/", "/health/live/", "/health/livex", "/metrics/", "/Metrics"]
)
async def test_other_paths_beside_them_are_not_found(gateway: RunningGateway, path: str) -> None:
    assert (await gateway.ask("GET", path, key=None)).status == 404
