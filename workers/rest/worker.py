"""The REST pool: the five steps in order, and what surrounds them.

A request comes as a `Request` and leaves as a `Response`; every refusal becomes one in `_refused`. The steps know
nothing of messages, of configuration being reloaded, or of how codes are spelled.
"""

import time
from collections.abc import Callable

import msgspec

from broker.requests.serve import RequestBody, Streamed
from schemas.caller import Anonymous
from schemas.http import Headers, Request, Response, header
from workers.database.session import Sessions
from workers.idempotency.writes import KeyedWrites
from workers.request_context.identity import Identity
from workers.rest.batch import run_batch
from workers.rest.conditional import execute_if, is_conditional
from workers.rest.describe import describe
from workers.rest.dialect import Dialect, dialect_of
from workers.rest.etags import with_tag
from workers.rest.execute import Around, Task, execute
from workers.rest.keyed import execute_keyed, run_with_key, takes_key
from workers.rest.model import Action, ApiRequest
from workers.rest.options import allowed
from workers.rest.parse.payload import parse_payload
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import Wanted, is_call_path, wanted_headers
from workers.rest.refused import FAILURES, refused
from workers.rest.respond import respond
from workers.rest.state import State

_READS = frozenset({"GET", "HEAD"})


class RestWorker:
    """Answers REST requests with the state it is given. `max_body` bounds what it reads, in bytes."""

    def __init__(
        self,
        sessions: Sessions,
        max_body: int,
        state: Callable[[], State],
        keyed_writes: KeyedWrites | None = None,
    ) -> None:
        self._sessions = sessions
        self._max_body = max_body
        self._state = state
        self._keyed_writes = keyed_writes

    async def answer(self, request: Request, body: RequestBody) -> Response | Streamed:
        """Answer one request. Every refusal is an answer; only defects raise."""
        state = self._state()
        dialect = dialect_of(request.headers)
        timing = Timing() if state.api.server_timing_enabled else _UNTIMED
        identity: Identity | None = None
        try:
            identity = state.identities.of(request.caller)
            timing.mark("jwt")
            response: Response | Streamed = await self._answer(
                state, request, body, identity, dialect, timing
            )
        except FAILURES as failure:
            is_anonymous = identity.is_anonymous if identity else isinstance(request.caller, Anonymous)
            is_minimal = state.api.error_verbosity == "minimal"
            response = refused(failure, dialect, is_anonymous=is_anonymous, is_minimal=is_minimal)
        timing.mark("response")
        return _traced(state, request, response, timing)

    async def _answer(
        self,
        state: State,
        request: Request,
        body: RequestBody,
        identity: Identity,
        dialect: Dialect,
        timing: "Timing",
    ) -> Response | Streamed:
        if request.method == "POST" and request.path in ("", "/"):
            data = await body.read(self._max_body)
            run_keyed = run_with_key(self._keyed_writes, request, identity, data)
            return await run_batch(
                state, request, data, identity, dialect, self._sessions, self._max_body, run_keyed
            )
        is_call = is_call_path(request.path)
        shape, values = shape_of(request.query, is_call=is_call and request.method in _READS)
        key, asked = state.request(request.method, request.path, shape, wanted_headers(request.headers))
        timing.mark("parse")
        if asked.action is Action.OPTIONS:
            return allowed(asked, is_call, state.catalog, state.options)
        if asked.action is Action.DESCRIBE:
            if state.options.root_spec:
                return await self._root_function(state, request, identity, dialect)
            return await describe(state, request, asked, identity, self._sessions)
        has_body = state.reads_body(asked)
        sent = await body.read(self._max_body) if has_body else b""
        payload = parse_payload(asked, sent) if has_body else None
        planned = state.planned(key, asked, payload)
        timing.mark("plan")
        data = payload.data if payload else b""
        around = Around(request, identity, state.role(identity.role), state.surroundings)
        read, run_keyed = None, None
        if is_conditional(asked, request.headers):
            read = self._read_for(state, asked, request, shape, values)
        if takes_key(planned.plan, request.method):
            run_keyed = run_with_key(self._keyed_writes, request, identity, sent)
        by_rows = planned.by_rows if read is None and run_keyed is None else None
        plan, task = planned.plan, Task(planned.plan, by_rows or planned.prepared, values, data)
        if run_keyed is not None:
            return await execute_keyed(
                run_keyed, task, read, around, lambda result: respond(plan, result, values, dialect)
            )
        if read is not None:
            result = await execute_if(read, task, around, self._sessions)
        else:
            result = await execute(task, around, self._sessions)
        timing.mark("transaction")
        response = respond(plan, result, values, dialect)
        if asked.action is Action.READ and isinstance(response, Response):
            return with_tag(plan, response, header(request.headers, "if-none-match"))
        return response

    def _read_for(
        self, state: State, asked: ApiRequest, request: Request, shape: str, values: list[str]
    ) -> Task:
        """Plan the read of the rows that a conditional write would change."""
        wanted = Wanted(accept="application/json", accept_profile=asked.schema)
        key, reads = state.request("GET", request.path, shape, wanted)
        planned = state.planned(key, reads, None)
        return Task(planned.plan, planned.prepared, values)

    async def _root_function(
        self, state: State, request: Request, identity: Identity, dialect: Dialect
    ) -> Response | Streamed:
        """Call the function that is served at the root, as if it had been named in the path."""
        target = (state.options.root_spec or "").rpartition(".")[2]
        call = msgspec.structs.replace(request, path=f"/rpc/{target}")
        key, called = state.request(call.method, call.path, "", wanted_headers(call.headers))
        planned = state.planned(key, called, None)
        around = Around(request, identity, state.role(identity.role), state.surroundings)
        result = await execute(
            Task(planned.plan, planned.by_rows or planned.prepared), around, self._sessions
        )
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


def _traced(
    state: State, request: Request, response: Response | Streamed, timing: Timing
) -> Response | Streamed:
    """Add the headers that options ask for."""
    extra: Headers = []
    if state.api.server_timing_enabled:
        extra.append(("server-timing", timing.header()))
    if state.api.server_trace_header:
        name = state.api.server_trace_header.lower()
        extra.append((name, header(request.headers, name) or ""))
    response.headers.extend(extra)
    return response
