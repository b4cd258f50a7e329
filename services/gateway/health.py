"""Health and metrics of the platform, as the gateway sees it."""

import asyncio
import base64
import hmac
import ipaddress
from collections.abc import Sequence

import msgspec

from broker import subjects
from broker.nats.connection import NatsConnection
from broker.observability.fault_reports import FaultCollector
from broker.observability.metrics import collect
from broker.requests.call import Calls
from schemas.errors import ApiError
from schemas.http import Request, Response
from schemas.keys.secret import Secret
from services.gateway.hosted_metrics import HostedMetrics
from services.gateway.requests.routes import POOLS
from services.middleware.errors import JSON, error_response

METRICS = "/metrics"
OFFICIAL_METRICS = "/customer/v1/privileged/metrics"
"""The same under the address of hosted projects, for scrapers that are set up for these, with metrics of theirs (`hosted_metrics.py`)."""
PATHS = frozenset(
    {
        "/health/live",
        "/health/gateway",
        "/health/ready",
        METRICS,
        OFFICIAL_METRICS,
        "/rest-admin/v1/live",
        "/rest-admin/v1/ready",
    }
)
_BUDGET_MS = 2000


class _PoolStatus(msgspec.Struct):
    """The body of a pool that is not ready."""

    message: str = ""


class Health:
    """Answers `PATHS`. Those of REST's administration are for this machine; they answer by their status alone."""

    def __init__(
        self,
        connection: NatsConnection,
        calls: Calls,
        metrics_token: Secret | None,
        pools: Sequence[str] = POOLS,
        version: str = "",
    ) -> None:
        """`version` is the release of headwater, which `/health/ready` names."""
        self._connection = connection
        self._calls = calls
        self._version = version
        self._is_leaving = False
        self._token = metrics_token
        self._pools = tuple(pools)
        self._hosted = HostedMetrics(calls)
        self._faults = FaultCollector(connection)
        self._faults.start()

    async def answer(
        self, path: str, peer: str, authorization: str | None, *, has_secret_key: bool = False
    ) -> Response:
        """Answer one of the paths. `has_secret_key`: the request has the secret API key."""
        if path.startswith("/rest-admin/") and not _is_loopback(peer):
            return error_response("", 403, "The administration of REST is for this machine")
        match path:
            case "/health/live":
                return Response(200, [JSON], b'{"status":"alive"}')
            case "/health/gateway":
                return self._serving()
            case "/health/ready":
                return await self._ready()
            case "/rest-admin/v1/live":
                return Response(200)
            case "/rest-admin/v1/ready":
                return Response(200 if await self._ask("rest") == "ok" else 503)
        response = await self._metrics(
            authorization, has_secret_key=has_secret_key, is_hosted=path == OFFICIAL_METRICS
        )
        if path == OFFICIAL_METRICS and response.status == 403:
            message = "Metrics are for Basic authentication as service_role with the secret API key"
            return error_response("", 401, message, headers=[("www-authenticate", 'Basic realm="metrics"')])
        return response

    def leave(self) -> None:
        """Report from now on that this edge is not ready: it is about to stop, and proxies should use other edges."""
        self._is_leaving = True

    def _serving(self) -> Response:
        """Return whether a proxy should send requests here: for what other parts lack, every edge would be left."""
        if self._is_leaving:
            return Response(503, [JSON], b'{"status":"leaving"}')
        if not self._connection.is_connected:
            return Response(503, [JSON], b'{"status":"not connected"}')
        return Response(200, [JSON], b'{"status":"serving"}')

    async def _ready(self) -> Response:
        """Ask every pool whether it can work: 200, or 503 with what is not ready.

        Beside the broker and the pools stand those parts that a process has reported as not working
        (`broker/observability/fault_reports.py`): a stream that does not store, the object store.
        """
        if self._is_leaving:
            return Response(503, [JSON], b'{"status":"leaving","parts":{}}')
        states = {"broker": "ok" if self._connection.is_connected else "not connected"}
        answers = await asyncio.gather(*(self._ask(pool) for pool in self._pools))
        states |= dict(zip(self._pools, answers, strict=True)) | self._faults.reasons
        status = 200 if all(state == "ok" for state in states.values()) else 503
        body = {
            "status": "ready" if status == 200 else "not ready",
            "version": self._version,
            "parts": states,
        }
        return Response(status, [JSON], msgspec.json.encode(body))

    async def _ask(self, pool: str) -> str:
        request = Request(id=f"health-{pool}", method="GET", path="/", budget_ms=_BUDGET_MS)
        try:
            answer = await self._calls.call(subjects.health(pool), request)
        except ApiError as error:
            return str(error)
        if answer.response.status == 200:
            return "ok"
        try:
            status_body = msgspec.json.decode(answer.response.body or b"{}", type=_PoolStatus)
        except msgspec.DecodeError:
            status_body = _PoolStatus()
        return status_body.message or str(answer.response.status)

    async def _metrics(self, authorization: str | None, *, has_secret_key: bool, is_hosted: bool) -> Response:
        """Return the metrics of all processes, for clients with the token or the secret key, wherever they are.

        `is_hosted`: also those of the machine and of Postgres, under the names of hosted projects.
        """
        if not (has_secret_key or self._may(authorization)):
            return error_response(
                "",
                403,
                "Metrics are for `Authorization: Bearer <gateway.metrics_token>`, or for the secret API key",
            )
        text = await collect(self._connection, self._pools)
        if is_hosted:
            text += await self._hosted.text()
        return Response(200, [("content-type", "text/plain; version=0.0.4; charset=utf-8")], text.encode())

    def _may(self, authorization: str | None) -> bool:
        if self._token is None or authorization is None:
            return False
        return hmac.compare_digest(authorization.encode(), f"Bearer {self._token.reveal()}".encode())


def basic_password(authorization: str | None) -> str | None:
    """Return the password of Basic authentication, whoever is named; None for anything else. Source: RFC 7617."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        _, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:  # not base64, or no text
        return None
    return password


def _is_loopback(peer: str) -> bool:
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
