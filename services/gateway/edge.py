"""The gateway: every request from its first line to its answer.

Order: request id, route, preflight, limits, key and token, then the pool. Whatever goes wrong here is answered in the
shape of the area that was asked for.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

from aiohttp import web

from broker.call import Calls
from broker.observations import Observation
from broker.observe import observe, traceback_of
from schemas.caller import Anonymous, Caller
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Headers, Response, header
from schemas.settings import Settings
from schemas.tokens import Verifier
from services.gateway.forward import BodyRefused, Forwarder, outgoing, received_headers, stream_out
from services.gateway.health import Health
from services.gateway.routes import Route, route_of
from services.middleware import cors
from services.middleware.apikey import KeyRefused, Keys, identify
from services.middleware.limits import Buckets, client_address, read_networks
from services.middleware.refusals import refusal
from services.middleware.request_id import request_id


class RequestCrashed(Observation, frozen=True):
    """The gateway could not answer a request: a defect of ours."""

    level: ClassVar[str] = "error"
    id: str
    traceback: str


@dataclass(slots=True)
class Doorkeeper:
    """What the gateway knows of keys: the API keys, and the verifiers of tokens by area."""

    keys: Keys
    data: Verifier
    """For the data interfaces (REST, GraphQL)."""
    platform: Verifier

    def caller(self, route: Route, headers: Headers, query_key: str | None, now: float) -> Caller:
        """Identify the caller. Raises: KeyRefused."""
        key, authorization = header(headers, "apikey") or query_key, header(headers, "authorization")
        if not route.needs_key and not key and not authorization:
            return Anonymous()
        verifier = self.data if route.area in ("rest", "graphql") else self.platform
        return identify(key, authorization, self.keys, verifier, now)


class Edge:
    """Answers HTTP requests. `handle` is the handler of an aiohttp low-level server."""

    def __init__(self, settings: Settings, calls: Calls, doorkeeper: Doorkeeper, health: Health) -> None:
        gateway, limit = settings.gateway, settings.gateway.rate_limit
        self._doorkeeper = doorkeeper
        self._health = health
        self._forwarder = Forwarder(
            calls,
            max_body=gateway.max_body,
            body_timeout=gateway.body_timeout,
            request_timeout=gateway.request_timeout,
        )
        self._max_url = gateway.max_url
        self._by_address = Buckets(limit.per_address, limit.per_address_burst)
        self._by_key = Buckets(limit.per_key, limit.per_key_burst)
        self._trusted = read_networks(gateway.trusted_proxies)
        self._policies = {"rest": cors.rest_policy(settings.api.cors_allowed_origins)}
        self._policy = cors.common_policy(settings.api.cors_allowed_origins)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. Never raises but when the client is gone."""
        headers = received_headers(request)
        id = request_id(header(headers, "x-request-id"))
        path = request.rel_url.raw_path
        found = route_of(path)
        area = found[0].area if found else ""
        policy = self._policies.get(area, self._policy)
        try:
            own = await self._own(request, path, headers, policy, found)
            if own is None:
                assert found is not None  # else it is answered above
                answer = await self._pass_on(request, found, headers, id)
                extra = [*cors.response_headers(policy, header(headers, "origin")), ("x-request-id", id)]
                if answer.chunks is not None:
                    return await stream_out(request, answer, extra)
                return outgoing(answer.response, extra, is_head=request.method == "HEAD")
        except _Answered as refused:
            own = refused.response
        except KeyRefused as error:
            own = refusal(area, 401, error.message, hint=error.hint, code="401")
        except BodyRefused as error:
            own = refusal(area, error.status, error.message)
        except (Unavailable, DeadlineExceeded) as error:
            own = refusal(area, error.status, str(error), headers=error.headers())
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # the rim of a served message
            observe(RequestCrashed(id, traceback_of(error)))
            own = refusal(area, 500, f"Internal error; the request id is {id}")
        extra = [*cors.response_headers(policy, header(headers, "origin")), ("x-request-id", id)]
        return outgoing(own, extra, is_head=request.method == "HEAD")

    async def _own(
        self,
        request: web.BaseRequest,
        path: str,
        headers: Headers,
        policy: cors.Policy,
        found: tuple[Route, str] | None,
    ) -> Response | None:
        """Give what the door answers itself; None when the request goes on to a pool."""
        if len(request.path_qs) > self._max_url:
            return refusal(
                found[0].area if found else "", 414, f"The URL is longer than {self._max_url} characters"
            )
        asked_method, origin = header(headers, "access-control-request-method"), header(headers, "origin")
        if origin is not None and cors.is_preflight(request.method, asked_method):
            return cors.preflight(policy, origin, header(headers, "access-control-request-headers"))
        if found is None:
            if path in ("/health/live", "/health/ready", "/metrics"):
                return await self._health.answer(path, request.remote or "", header(headers, "authorization"))
            return refusal(
                "",
                404,
                f"There is nothing at {path}. The interfaces are below /rest/v1, /auth/v1 and their like.",
            )
        route = found[0]
        self._limit(request, headers)
        if not route.is_built:
            return refusal(route.area, 501, f"The {route.area} interface is not built yet in this version")
        return None

    async def _pass_on(self, request: web.BaseRequest, found: tuple[Route, str], headers: Headers, id: str):  # type: ignore[no-untyped-def]  # Answer
        route, below = found
        query_key = (
            request.rel_url.query.get("apikey") if "apikey=" in request.rel_url.raw_query_string else None
        )
        caller = self._doorkeeper.caller(route, headers, query_key, time.time())
        return await self._forwarder.ask(route, below, request, id, caller, headers)

    def _limit(self, request: web.BaseRequest, headers: Headers) -> None:
        """Take a token for the address and one for the key. Raises: _Answered with 429."""
        now = time.monotonic()
        address = client_address(request.remote or "", header(headers, "x-forwarded-for"), self._trusted)
        wait = max(
            self._by_address.take(address, now), self._by_key.take(header(headers, "apikey") or "", now)
        )
        if wait:
            found = route_of(request.rel_url.raw_path)
            area = found[0].area if found else ""
            raise _Answered(
                refusal(
                    area, 429, "Too many requests", headers=[("retry-after", str(max(1, round(wait + 0.5))))]
                )
            )


class _Answered(Exception):
    """The door has an answer of its own."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response
