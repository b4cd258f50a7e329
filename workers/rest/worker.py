"""The REST pool: the five steps in order, and what surrounds them.

A request comes as a `Request` and leaves as a `Response`; every refusal becomes one in `_refused`. The steps know
nothing of messages, of configuration being reloaded, or of how codes are spelled.
"""

import time
from collections.abc import Callable

import msgspec

from broker.serve import Body
from schemas.caller import Anonymous
from schemas.http import Headers, Request, Response, header
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.session import Sessions, Statement, Work
from workers.rest.dialect import Dialect, dialect_of, spelled_code
from workers.rest.errors import RestError, RootDisabled
from workers.rest.execute import execute, settings_of
from workers.rest.identity import Identity
from workers.rest.model import Action, ApiRequest, Output, Payload, Plan, Read, Shape
from workers.rest.openapi import VISIBLE_SQL, OpenApiOptions, openapi_document, visible_from
from workers.rest.options import allowed
from workers.rest.parse.payload import check_keys, parse_arguments, parse_rows
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import is_call_path, wanted_headers
from workers.rest.plan.output import negotiate_root
from workers.rest.raised import refusal_of
from workers.rest.respond import respond
from workers.rest.state import State

_READS = frozenset({"GET", "HEAD"})
_OPENAPI = "application/openapi+json; charset=utf-8"


class RestWorker:
    """Answers REST requests with the state it is given. `max_body` bounds what it reads, in bytes."""

    def __init__(self, sessions: Sessions, max_body: int, state: Callable[[], State]) -> None:
        self._sessions = sessions
        self._max_body = max_body
        self._state = state

    async def answer(self, request: Request, body: Body) -> Response:
        """Answer one request. Every refusal is an answer; only defects raise."""
        state = self._state()
        dialect = dialect_of(request.headers)
        timing = Timing() if state.api.server_timing_enabled else _UNTIMED
        identity: Identity | None = None
        try:
            identity = state.identities.of(request.caller)
            timing.mark("jwt")
            response = await self._answer(state, request, body, identity, dialect, timing)
        except RestError as error:
            response = refused(error, dialect, state)
        except (DatabaseError, Disconnected, PoolTimeout) as error:
            is_anonymous = identity.is_anonymous if identity else isinstance(request.caller, Anonymous)
            response = refused(refusal_of(error, is_anonymous=is_anonymous), dialect, state)
        timing.mark("response")
        return _traced(state, request, response, timing)

    async def _answer(
        self,
        state: State,
        request: Request,
        body: Body,
        identity: Identity,
        dialect: Dialect,
        timing: "Timing",
    ) -> Response:
        is_call = is_call_path(request.path)
        shape, values = shape_of(request.query, is_call=is_call and request.method in _READS)
        key, asked = state.request(request.method, request.path, shape, wanted_headers(request.headers))
        timing.mark("parse")
        if asked.action is Action.OPTIONS:
            return allowed(asked, is_call, state.catalog, state.options)
        if asked.action is Action.DESCRIBE:
            return await self._describe(state, request, asked, identity, dialect)
        payload = await self._payload(state, asked, body)
        planned = state.planned(key, asked, payload)
        timing.mark("plan")
        result = await execute(
            planned.plan,
            planned.prepared,
            values,
            payload.data if payload else b"",
            request,
            identity,
            state.role(identity.role),
            state.surroundings,
            self._sessions,
        )
        timing.mark("transaction")
        return respond(planned.plan, result, values, dialect)

    async def _payload(self, state: State, asked: ApiRequest, body: Body) -> Payload | None:
        if not state.reads_body(asked):
            return None
        data = await body.read(self._max_body)
        parse = parse_arguments if asked.action is Action.CALL else parse_rows
        payload = parse(asked.content_type, data, asked.query.columns)
        if asked.query.key is not None and asked.action is Action.UPDATE:
            check_keys(payload, asked.query.key)
        return payload

    async def _describe(
        self, state: State, request: Request, asked: ApiRequest, identity: Identity, dialect: Dialect
    ) -> Response:
        """Answer the root: the configured function, or the OpenAPI document of what the role may use."""
        if state.options.root_spec:
            return await self._root_function(state, request, asked, identity, dialect)
        if state.options.openapi_mode == "disabled":
            raise RootDisabled
        negotiate_root(asked)
        visible = None
        if state.options.openapi_mode == "follow-privileges":
            plan = Plan(asked, Read(("", ""), "", ()), output=Output(Shape.NOTHING, _OPENAPI))
            settings = settings_of(plan, request, identity, state.role(identity.role), state.surroundings)
            statement = Statement(VISIBLE_SQL, [asked.schema.encode()])
            rows = await self._sessions.run(Work(settings, [statement], read_only=True))
            visible = visible_from(rows[-1][0][0] or b"{}")
        document = openapi_document(state.catalog, asked.schema, visible, _openapi_options(state, request))
        headers: Headers = [("content-type", _OPENAPI), ("vary", "Accept, Prefer, Range")]
        if asked.negotiated_schema:
            headers.append(("content-profile", asked.schema))
        return Response(200, headers, b"" if asked.is_head else msgspec.json.encode(document))

    async def _root_function(
        self, state: State, request: Request, asked: ApiRequest, identity: Identity, dialect: Dialect
    ) -> Response:
        """Call the function that is served at the root, as if it had been named in the path."""
        target = (state.options.root_spec or "").rpartition(".")[2]
        call = msgspec.structs.replace(request, path=f"/rpc/{target}")
        key, called = state.request(call.method, call.path, "", wanted_headers(call.headers))
        planned = state.planned(key, called, None)
        role = state.role(identity.role)
        result = await execute(
            planned.plan,
            planned.prepared,
            [],
            b"",
            request,
            identity,
            role,
            state.surroundings,
            self._sessions,
        )
        del asked
        return respond(planned.plan, result, [], dialect)


class Timing:
    """Milliseconds spent on each step of a request, for `Server-Timing`."""

    __slots__ = ("_last", "_steps")

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._steps = dict.fromkeys(("jwt", "parse", "plan", "transaction", "response"), 0.0)

    def mark(self, step: str) -> None:
        """Say that a step has ended."""
        now = time.perf_counter()
        self._steps[step] += (now - self._last) * 1000
        self._last = now

    def header(self) -> str:
        """Give the value of `Server-Timing`: milliseconds with one decimal."""
        return ", ".join(f"{step};dur={spent:.1f}" for step, spent in self._steps.items())


class Untimed(Timing):
    """What stands in for a clock when nobody wants the figures: the hot path asks no time."""

    def mark(self, step: str) -> None:
        """Take no notice."""


_UNTIMED = Untimed()


def refused(error: RestError, dialect: Dialect, state: State) -> Response:
    """Make the answer of a refusal, in the caller's spelling."""
    body = error.body()
    body["code"] = code = spelled_code(error.code, dialect)
    if state.api.error_verbosity == "minimal":
        body = {"code": code, "message": body["message"]}
    headers: Headers = [
        (name, value.replace(error.code, code, 1) if name == "proxy-status" else value)
        for name, value in error.headers()
    ]
    if not any(name == "content-type" for name, _ in headers):
        headers.insert(0, ("content-type", "application/json; charset=utf-8"))
    return Response(error.status, headers, msgspec.json.encode(body), error.reason())


def _traced(state: State, request: Request, response: Response, timing: Timing) -> Response:
    """Add the headers that options ask for."""
    extra: Headers = []
    if state.api.server_timing_enabled:
        extra.append(("server-timing", timing.header()))
    if state.api.server_trace_header:
        name = state.api.server_trace_header.lower()
        extra.append((name, header(request.headers, name) or ""))
    return msgspec.structs.replace(response, headers=[*response.headers, *extra]) if extra else response


def _openapi_options(state: State, request: Request) -> OpenApiOptions:
    return OpenApiOptions(
        proxy_uri=state.api.openapi_server_proxy_uri,
        host=header(request.headers, "host") or "localhost",
        security_active=state.api.openapi_security_active,
    )
