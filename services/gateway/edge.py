"""The gateway: every request from its first line to its answer.

Order: request id, route, preflight, limits, key and token, then the pool. Whatever goes wrong here is answered in the
shape of the area that was asked for.
"""

import math
import time
from dataclasses import dataclass
from typing import ClassVar

from aiohttp import web

from broker.observability.observations import Observation
from broker.observability.observe import observe, traceback_of
from broker.requests.call import Answer, Calls
from schemas.caller import Caller, Rejected
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Headers, Response, header_values
from schemas.settings.tree import Settings
from schemas.subscriptions import METHOD as SUBSCRIBE
from services.gateway import resuming
from services.gateway.doorkeeper import Doorkeeper
from services.gateway.forward import BodyRefused, Forwarder, outgoing, received_headers, stream_out
from services.gateway.functions import Functions, forwarded, join, wants_socket
from services.gateway.health import PATHS as HEALTH_PATHS
from services.gateway.health import Health
from services.gateway.objects import Objects, carries_object
from services.gateway.pace import Pace, Patience
from services.gateway.routes import Route, areas_off, names_version, route_of, switch_of
from services.gateway.s3_form import is_form, open_form
from services.gateway.s3_refusals import PREFIX as S3_PREFIX
from services.gateway.s3_refusals import in_xml, session_token
from services.middleware import cors
from services.middleware.apikey import KeyRefused, without_key
from services.middleware.caller_key import CallerKeys
from services.middleware.limits import Buckets, client_address, is_in_networks, read_networks
from services.middleware.refusals import no_versions, refusal
from services.middleware.request_id import request_id
from services.realtime import edge as realtime
from services.subscriptions.edge import GraphQLSockets, is_subscribing

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})


class RequestCrashed(Observation, frozen=True):
    """The gateway could not answer a request: a defect of ours."""

    level: ClassVar[str] = "error"
    id: str
    traceback: str


class Edge:
    """Answers HTTP requests. `handle` is the handler of an aiohttp low-level server."""

    def __init__(
        self,
        settings: Settings,
        calls: Calls,
        doorkeeper: Doorkeeper,
        health: Health,
        objects: Objects | None = None,
        sockets: realtime.Realtime | None = None,
        subscriptions: GraphQLSockets | None = None,
    ) -> None:
        gateway, limit = settings.gateway, settings.gateway.rate_limit
        self._doorkeeper = doorkeeper
        self._health = health
        self._objects = objects
        self._sockets = sockets
        self._subscriptions = subscriptions
        self._patience = Patience.of(gateway)
        self._caller_keys = CallerKeys()
        self._forwarder = Forwarder(
            calls,
            max_body=gateway.max_body,
            patience=self._patience,
            request_timeout=gateway.request_timeout,
        )
        self._functions = Functions(calls, settings.edge_runtime, self._patience)
        self._max_url = gateway.max_url
        self._by_address = Buckets(limit.per_address, limit.per_address_burst)
        self._by_key = Buckets(limit.per_key, limit.per_key_burst)
        self._is_limited = limit.per_address > 0 or limit.per_key > 0
        self._trusted = read_networks(gateway.trusted_proxies)
        self._off = areas_off(settings)
        self._largest = settings.storage.largest
        self._policies = {"rest": cors.rest_policy(settings.api.cors_allowed_origins)}
        self._policy = cors.common_policy(settings.api.cors_allowed_origins)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. Never raises but when the client is gone."""
        asked = self._read(request)
        try:
            own = await self._own(asked)
            if own is None and self._sockets is not None and asked.area == "realtime":
                talked = await self._talk(asked, self._sockets)
                if isinstance(talked, web.StreamResponse):
                    return talked
                own = talked
            elif own is None and asked.area == "graphql" and is_subscribing(request):
                served = await self._subscribe(asked)
                if isinstance(served, web.StreamResponse):
                    return served
                own = served
            elif own is None:
                answer = await self._pass_on(asked)
                if answer.chunks is not None and answer.response.status == 101:
                    return await join(request, answer, self._extra(asked))
                if answer.chunks is not None:
                    return await stream_out(request, answer, self._extra(asked))
                own = answer.response
                if own.claim is not None and self._objects is not None:
                    return await self._objects.send(request, own, asked.first, self._extra(asked))
        except _Answered as refused:
            own = refused.response
        except KeyRefused as error:
            own = refusal(asked.area, 401, error.message, hint=error.hint, code="401")
        except BodyRefused as error:
            own = refusal(asked.area, error.status, error.message)
        except (Unavailable, DeadlineExceeded) as error:
            outcome = getattr(error, "outcome", "") if request.method not in _SAFE_METHODS else ""
            own = refusal(asked.area, error.status, str(error), headers=error.headers(), outcome=outcome)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # the rim of a served message
            observe(RequestCrashed(asked.id, traceback_of(error)))
            own = refusal(asked.area, 500, f"Internal error; the request id is {asked.id}")
        if asked.is_s3:
            own = in_xml(own)
        sent = outgoing(own, self._extra(asked), is_head=request.method == "HEAD")
        if asked.area == "functions" and wants_socket(request):
            sent.force_close()  # what the client sends next is no HTTP
        return sent

    def refuse(self, status: int, message: str) -> web.Response:
        """Give the answer to what is no request at all."""
        extra = [*cors.response_headers(self._policy, None), ("x-request-id", request_id(None))]
        return outgoing(refusal("", status, message), extra, is_head=False)

    def _read(self, request: web.BaseRequest) -> "_Asked":
        headers = received_headers(request)
        first = dict(reversed(headers))
        target = request.raw_path
        if not target.startswith("/"):  # the whole URL, as proxies are asked
            target = request.rel_url.raw_path_qs
        path, _, query = target.partition("?")
        found = route_of(path, request.method)
        return _Asked(
            request=request,
            id=request_id(first.get("x-request-id")),
            url_length=len(target),
            path=path,
            query=query.partition("#")[0],
            headers=headers,
            first=first,
            route=found[0] if found else None,
            below=found[1] if found else "",
        )

    def _extra(self, asked: "_Asked") -> Headers:
        """Give the headers of every answer."""
        headers = cors.response_headers(self._policy_of(asked.area), asked.first.get("origin"))
        headers.append(("x-request-id", asked.id))
        return headers

    def _policy_of(self, area: str) -> cors.Policy:
        return self._policies.get(area, self._policy)

    async def _own(self, asked: "_Asked") -> Response | None:
        """Give what the door answers itself; None when the request goes on to a pool."""
        if asked.url_length > self._max_url:
            return refusal(asked.area, 414, f"The URL is longer than {self._max_url} characters")
        first, method = asked.first, asked.request.method
        if method == "OPTIONS" and asked.is_resumable and self._objects is not None:
            return resuming.options(self._largest, first.get("access-control-request-headers"))
        if (
            method == "OPTIONS"
            and (origin := first.get("origin")) is not None
            and cors.is_preflight(method, first.get("access-control-request-method"))
            and not (asked.area == "functions" and asked.area not in self._off)
        ):
            names = first.get("access-control-request-headers")
            return cors.preflight(self._policy_of(asked.area), origin, names)
        if asked.route is None:
            return await self._without_route(asked)
        if self._is_limited:
            self._limit(asked)
        if not asked.route.is_built:
            return refusal(asked.area, 501, f"The {asked.area} interface is not built yet in this version")
        if asked.area in self._off or (asked.area == "realtime" and self._sockets is None):
            return refusal(
                asked.area, 501, f"The {asked.area} interface is switched off ({switch_of(asked.area)})"
            )
        if asked.area == "storage" and names_version(method, asked.below, asked.query):
            return no_versions()
        return None

    async def _without_route(self, asked: "_Asked") -> Response:
        if asked.path in HEALTH_PATHS:
            peer, authorization = self._address(asked), asked.first.get("authorization")
            if peer == asked.request.remote and not _FORWARDED.isdisjoint(asked.first):
                peer = ""  # it came through a proxy that is not known: this machine is not who asks
            return await self._health.answer(asked.path, peer, authorization)
        return refusal(
            "",
            404,
            f"There is nothing at {asked.path}. The interfaces are below /rest/v1, /auth/v1 and their like.",
        )

    def _address(self, asked: "_Asked") -> str:
        """Give the address of the client. The header may come in several lines, the last of the nearest proxy."""
        peer = asked.request.remote or ""
        if not self._trusted:
            return peer
        hops = header_values(asked.headers, "x-forwarded-for")
        return client_address(peer, ",".join(hops) if hops else None, self._trusted)

    async def _pass_on(self, asked: "_Asked") -> Answer:
        assert asked.route is not None  # else it is answered above
        key, authorization = asked.key(), asked.first.get("authorization")
        if asked.is_s3:  # whose header holds a signature, which is the pool's to verify
            authorization = session_token(asked.first, asked.query)
        form = None
        if asked.is_s3 and is_form(asked.request.method, asked.below, asked.first.get("content-type")):
            form = await open_form(asked.request, Pace(self._patience))
            authorization = form.authorization
        caller = await self._caller(asked.route, key, authorization)
        client = self._address(asked) if asked.route.tells_client else ""
        caller_key = self._caller_keys.key_of(
            caller, key if asked.route.needs_key else None, lambda: client or self._address(asked)
        )
        if asked.area == "functions":
            return await self._to_function(asked, caller, client, caller_key)
        if self._objects is not None and asked.area == "storage":
            method = asked.request.method
            if form is not None or carries_object(method, asked.below):
                headers = asked.headers if form is None else form.headers(asked.headers)
                head = self._forwarder.head(
                    asked.id, method, asked.below, asked.query, headers, caller, client, caller_key
                )
                return await self._objects.receive(form.file if form else asked.request, head)
        query = without_key(asked.query) if asked.is_keyed_by_query else asked.query
        return await self._forwarder.ask(
            asked.route,
            asked.below,
            query,
            asked.request,
            asked.id,
            caller,
            asked.headers,
            client,
            caller_key,
        )

    async def _talk(self, asked: "_Asked", sockets: realtime.Realtime) -> web.StreamResponse | Response:
        """Have a request for the realtime edge answered; a socket is served to its end."""
        assert asked.route is not None  # else it is answered above
        key = realtime.key_of(asked.first, asked.query)
        address = self._address(asked)
        told = realtime.Asked(asked.request, asked.below, asked.query, asked.first, key, address)
        if sockets.is_socket(asked.below):
            return await sockets.connect(told)
        caller = await self._caller(asked.route, key, asked.first.get("authorization"))
        if isinstance(caller, Rejected):
            return refusal(asked.area, 401, caller.message)
        if sockets.is_stream(asked.below):
            return await sockets.stream(told, caller, self._extra(asked))
        return await sockets.answer(told, await self._forwarder.read(asked.request), caller)

    async def _subscribe(self, asked: "_Asked") -> web.StreamResponse | Response:
        """Serve a socket of GraphQL to its end."""
        if asked.below not in ("", "/"):
            return refusal(asked.area, 404, "There is nothing below this path")
        if asked.request.method == SUBSCRIBE:
            return refusal(asked.area, 405, "Send a query by POST or GET", headers=[("allow", "GET, POST")])
        if self._subscriptions is None:
            return refusal(asked.area, 501, "Subscriptions are switched off (graphql.subscriptions.enabled)")
        return await self._subscriptions.connect(
            asked.request, asked.first, asked.key(), self._address(asked)
        )

    async def _caller(self, route: Route, key: str | None, authorization: str | None) -> Caller:
        """Identify who asks. Raises: KeyRefused."""
        now = time.time()
        caller = self._doorkeeper.caller(route, key, authorization, now)
        if isinstance(caller, Rejected):
            caller = await self._doorkeeper.second_look(route, key, authorization, now, caller)
        return caller

    async def _to_function(self, asked: "_Asked", caller: Caller, client: str, caller_key: str) -> Answer:
        """Ask a function. A preflight that it does not answer well is answered here."""
        assert asked.route is not None  # as in `_pass_on`
        request, first = asked.request, asked.first
        is_trusted = is_in_networks(request.remote or "", self._trusted)
        headers = forwarded(asked.headers, first, request.scheme, client, is_trusted=is_trusted)
        asking = self._functions.ask(
            asked.route, asked.below, asked.query, request, asked.id, caller, headers, client, caller_key
        )
        origin, method = first.get("origin"), first.get("access-control-request-method")
        if origin is None or not cors.is_preflight(request.method, method):
            return await asking
        try:
            answer = await asking
            if 200 <= answer.response.status < 300:
                return answer
            await answer.close()
        except (Unavailable, DeadlineExceeded):
            pass
        names = first.get("access-control-request-headers")
        return Answer(cors.preflight(self._policy_of(asked.area), origin, names))

    def _limit(self, asked: "_Asked") -> None:
        """Take a token for the address and one for the key. Raises: _Answered with 429."""
        now = time.monotonic()
        wait = self._by_address.take(self._address(asked), now)
        if not wait:  # whom the first refuses takes nothing of others
            wait = self._by_key.take(asked.key() or "", now)
        if wait:
            after = ("retry-after", str(math.ceil(wait)))
            raise _Answered(refusal(asked.area, 429, "Too many requests", headers=[after]))


@dataclass(slots=True)
class _Asked:
    """A request as the door sees it."""

    request: web.BaseRequest
    id: str
    url_length: int
    path: str
    query: str
    headers: Headers
    first: dict[str, str]
    """The first header of each name."""
    route: Route | None
    below: str
    """The path below the route's prefix."""

    @property
    def area(self) -> str:
        """Give the area that is asked for; empty where there is none."""
        return self.route.area if self.route else ""

    @property
    def is_s3(self) -> bool:
        """Tell whether this is for the S3 endpoint."""
        return self.route is not None and self.route.prefix == S3_PREFIX

    @property
    def is_resumable(self) -> bool:
        """Tell whether this is for resumable uploads."""
        return self.route is not None and self.route.prefix == resuming.ROUTE

    @property
    def is_keyed_by_query(self) -> bool:
        """Tell whether the API key came in the query of a data interface."""
        has_key = "apikey=" in self.query and not self.first.get("apikey")
        return has_key and self.area in ("rest", "graphql")

    def key(self) -> str | None:
        """Give the API key: of the header, or of the query for clients that cannot set one."""
        key = self.first.get("apikey")
        if not key and "apikey=" in self.query:
            key = self.request.rel_url.query.get("apikey")
        return key


class _Answered(Exception):
    """The door has an answer of its own."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response
