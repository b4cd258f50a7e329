"""The REST worker: a `Request` from the gateway becomes a `Response` in five steps.

    parse     method, path, query string, headers -> ApiRequest                    parse/
    plan      ApiRequest, payload, catalog -> ReadPlan | WritePlan | CallPlan      plan/
    query     plan -> RestStatement, SQL with parameters                           query/
    execute   statement -> RestResult, in one transaction as the caller            execute.py
    respond   RestResult -> status, headers and body                               respond.py

`prepare.py` runs the first three through the cache of the state. An error of any step becomes a response in `answer`. The steps
themselves do not depend on messages, on the reload of the configuration, or on the spelling of error codes.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from urllib.parse import quote

import msgspec

from broker.requests.handler import RequestBody, StreamedResponse
from schemas.caller import AnonymousCaller
from schemas.http import Headers, Request, Response, derived, header
from schemas.subscriptions import METHOD as SUBSCRIBE
from workers.database.transactions.model import TransactionRunner
from workers.idempotency.writes import KeyedWrites
from workers.request_context.identity import RequestIdentity
from workers.rest.batch import run_batch
from workers.rest.conditional import execute_if, is_conditional
from workers.rest.describe import describe
from workers.rest.dialect import Dialect, dialect_of
from workers.rest.errors.plan import NOT_IN_CATALOG
from workers.rest.errors.response import FAILURES, error_response
from workers.rest.execute import RestContext, RestTask, execute
from workers.rest.history import row_history, wants_history
from workers.rest.keyed_writes import execute_keyed, run_with_key, takes_key
from workers.rest.live import live_plan
from workers.rest.model import ApiRequest, ReadPlan, RequestAction
from workers.rest.options import allowed_methods, with_allow
from workers.rest.parse.payload import read_payload
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import PlanHeaders, is_call_path
from workers.rest.prepare import parse, parse_with, plan_and_query, prepare_plan, reads_body
from workers.rest.respond import respond
from workers.rest.state import RestState

_READS = frozenset({"GET", "HEAD"})


class RestWorker:
    """Answers REST requests. `state` returns the current state; `max_body` limits request bodies, in bytes.

    `catch_up` waits for a read of the catalog that is due, and returns whether there is a new state.
    """

    def __init__(
        self,
        sessions: TransactionRunner,
        max_body: int,
        state: Callable[[], RestState],
        keyed_writes: KeyedWrites | None = None,
        catch_up: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._sessions = sessions
        self._max_body = max_body
        self._state = state
        self._keyed_writes = keyed_writes
        self._catch_up = catch_up

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request. Every error of the interface is a response; only defects raise."""
        state = self._state()
        dialect = derived(request.headers, dialect_of)
        timing = Timing() if state.api.server_timing_enabled else None
        identity: RequestIdentity | None = None
        response: Response | StreamedResponse
        try:
            identity = state.identities.of(request.caller)
            if timing is not None:
                timing.mark("jwt")
            response = await self._answer(state, request, body, identity, dialect, timing)
        except FAILURES as failure:
            is_anonymous = identity.is_anonymous if identity else isinstance(request.caller, AnonymousCaller)
            is_minimal = state.api.error_verbosity == "minimal"
            response = error_response(failure, dialect, is_anonymous=is_anonymous, is_minimal=is_minimal)
            response = with_allow(response, request.method, request.path)
        if state.adds_headers:
            return _with_trace_headers(state, request, response, timing)
        return response

    async def _answer(
        self,
        state: RestState,
        request: Request,
        body: RequestBody,
        identity: RequestIdentity,
        dialect: Dialect,
        timing: "Timing | None",
    ) -> Response | StreamedResponse:
        if request.method == SUBSCRIBE:
            return await live_plan(state, request, self._sessions)
        if request.method == "POST" and request.path in ("", "/"):
            data = await body.read(self._max_body)
            run_keyed = run_with_key(self._keyed_writes, request, identity, data)
            return await run_batch(
                state, request, data, identity, dialect, self._sessions, self._max_body, run_keyed
            )
        if state.options.root_spec and request.path in ("", "/") and request.method in _READS:
            request = _call_of_root(request, state.options.root_spec, state.options.schemas)
        # Parse, plan and query: the results are cached by the shape of the URL.
        is_call = is_call_path(request.path)
        shape, values = shape_of(request.query, is_call=is_call and request.method in _READS)
        key, parsed = parse(state, request.method, request.path, shape, request.headers)
        if timing is not None:
            timing.mark("parse")
        if parsed.action is RequestAction.OPTIONS:
            return allowed_methods(parsed, is_call, state.catalog, state.options)
        if parsed.action is RequestAction.DESCRIBE:
            return await describe(state, request, parsed, identity, self._sessions)
        if wants_history(parsed):
            return await row_history(state, request, parsed, identity, self._sessions)
        has_body = reads_body(parsed)
        sent = await body.read(self._max_body) if has_body else b""
        payload = await read_payload(parsed, sent) if has_body else None
        try:
            planned = await prepare_plan(state, key, parsed, payload)
        except NOT_IN_CATALOG:
            if self._catch_up is None or not await self._catch_up():
                raise
            state = self._state()
            planned = await prepare_plan(state, key, parsed, payload)
        plan = planned.plan
        if timing is not None:
            timing.mark("plan")

        # Execute, in one transaction as the caller; with a condition or an idempotency key if the request has one.
        data = payload.data if payload else b""
        context = RestContext(request, identity, state.role(identity.role), state.defaults)
        read, run_keyed = None, None
        if is_conditional(parsed, request.headers):
            read = self._read_for(state, parsed, request, shape, values)
        if takes_key(plan, request.method):
            run_keyed = run_with_key(self._keyed_writes, request, identity, sent)
        by_rows = planned.by_rows if read is None and run_keyed is None else None
        task = RestTask(plan, by_rows or planned.statement, values, data)
        if run_keyed is not None:
            return await execute_keyed(
                run_keyed,
                task,
                read,
                context,
                lambda result: respond(plan, result, values, dialect, is_conditional=read is not None),
            )
        if read is not None:
            result = await execute_if(read, task, context, self._sessions)
        else:
            result = await execute(task, context, self._sessions)
        if timing is not None:
            timing.mark("transaction")

        # Respond. Reads have an entity tag, and what a write under a condition returns.
        conditions = request.headers if isinstance(plan, ReadPlan) else None
        fixed = planned.fixed_headers(dialect)
        return respond(
            plan,
            result,
            values,
            dialect,
            conditions=conditions,
            is_conditional=read is not None,
            fixed=fixed,
        )

    def _read_for(
        self, state: RestState, parsed: ApiRequest, request: Request, shape: str, values: list[str]
    ) -> RestTask:
        """Return the read of the rows that a conditional write would change, with their number beyond limits."""
        headers = PlanHeaders(
            accept="application/json", prefer=("count=exact",), accept_profile=parsed.schema
        )
        key, reads = parse_with(state, "GET", request.path, shape, headers)
        planned = plan_and_query(state, key, reads, None)
        return RestTask(planned.plan, planned.statement, values)


def _call_of_root(request: Request, root_spec: str, exposed: Sequence[str]) -> Request:
    """Return the call of the function that is served at the root. Its schema counts where the request names none."""
    schema, _, name = root_spec.rpartition(".")
    headers = request.headers
    if schema in exposed and header(headers, "accept-profile") is None:
        headers = [*headers, ("accept-profile", schema)]
    return msgspec.structs.replace(request, path=f"/rpc/{quote(name, safe='')}", headers=headers)


class Timing:
    """Milliseconds spent on each step of a request, for `Server-Timing`."""

    __slots__ = ("_last", "_steps")

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._steps = dict.fromkeys(("jwt", "parse", "plan", "transaction", "response"), 0.0)

    def mark(self, step: str) -> None:
        """Add the time since the last mark to a step."""
        now = time.perf_counter()
        self._steps[step] += (now - self._last) * 1000
        self._last = now

    def header(self) -> str:
        """Return the value of `Server-Timing`: milliseconds with one decimal."""
        return ", ".join(f"{step};dur={spent:.1f}" for step, spent in self._steps.items())


def _with_trace_headers(
    state: RestState, request: Request, response: Response | StreamedResponse, timing: Timing | None
) -> Response | StreamedResponse:
    """Return the response with the headers that settings switch on."""
    extra: Headers = []
    if timing is not None:
        timing.mark("response")
        extra.append(("server-timing", timing.header()))
    if state.api.server_trace_header:
        name = state.api.server_trace_header.lower()
        extra.append((name, header(request.headers, name) or ""))
    headers = [*response.headers, *extra]
    if isinstance(response, StreamedResponse):
        return replace(response, headers=headers)
    return msgspec.structs.replace(response, headers=headers)
