"""The worker of the GraphQL pool: parse, plan, compile, execute and respond, in this order (`GraphQLWorker._run`).

In: a `Request`. Out: a `Response`. A failure is an entry of `errors` with status 200; only what is not a GraphQL request
has another status (`errors.py`), and what is refused where the client accepts a media type with status codes
(`media_types.py`). Two things happen around the steps:
- If the database lacks a name that the schema has (`StaleSchema`), the worker waits for a new state and runs the request
  once more. A message that remains is recorded in `state.missing_names`, so that it causes one reload only.
- Work on large documents and bodies runs in a thread, one at a time, so that it does not block the event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TypeVar

import msgspec

from broker.requests.handler import BodyTooLarge, RequestBody, StreamedResponse
from schemas.http import Request, Response, header
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.graphql.context import transaction_context
from workers.graphql.errors import (
    GraphQLFailure,
    RefusedOperation,
    RejectedRequest,
    StaleSchema,
    WrongMethod,
)
from workers.graphql.execute import OperationOutcome, bind_statements, execute, failure_from
from workers.graphql.idempotency import execute_keyed, keyed_mutation
from workers.graphql.media_types import wants_graphql_response
from workers.graphql.parse.body import GraphQLRequest, parse_body, parse_query_string
from workers.graphql.parse.document import is_mutation
from workers.graphql.parse.persisted import PersistedQueries
from workers.graphql.plan.operation import IntrospectionQuery
from workers.graphql.respond import as_graphql_response, failure_response, refusal_response, respond
from workers.graphql.role import CachedOperation, RoleState, cached_plan
from workers.graphql.single_read import answer_single_read
from workers.graphql.state import GraphQLState
from workers.idempotency.writes import KeyedWrites

_PAGE = resources.files("workers.graphql").joinpath("page.html").read_bytes()
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_MOST_MISSING = 1000
_LONG, _MANY, _LARGE = 4096, 200, 256 * 1024
"""Characters of a document, fields of an operation, and bytes of a body beyond which work is done in a thread. Below,
it takes a few milliseconds."""
T = TypeVar("T")


class GraphQLWorker:
    """Answers GraphQL requests. `max_body` is the limit of a body in bytes; `state` returns the current state.

    `wait_for_new_state` waits for a state newer than one that no longer fits the database, and returns whether it came.
    """

    def __init__(
        self,
        pool: ConnectionPool,
        max_body: int,
        state: Callable[[], GraphQLState],
        wait_for_new_state: Callable[[GraphQLState], Awaitable[bool]],
        persisted: PersistedQueries,
        *,
        has_page: bool,
        keyed_writes: KeyedWrites | None = None,
    ) -> None:
        self._pool, self._max_body, self._state, self._wait_for_new_state = (
            pool,
            max_body,
            state,
            wait_for_new_state,
        )
        self._persisted, self._has_page = persisted, has_page
        self._keyed_writes = keyed_writes
        self._executor = ThreadPoolExecutor(1, "graphql")
        """Runs the work on large documents, one at a time, while the event loop serves other requests."""

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request. Raises: RejectedRequest, which is sent as an answer too; anything else is a defect."""
        if not wants_graphql_response(header(request.headers, "accept")):
            try:
                return await self._answer_or_reject(request, body)
            except GraphQLFailure as failure:
                return failure_response(failure.entries)
        try:
            return as_graphql_response(await self._answer_or_reject(request, body))
        except GraphQLFailure as failure:
            return refusal_response(failure.entries)
        except RejectedRequest as rejected:
            rejected.has_graphql_type = True
            raise

    async def _answer_or_reject(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request as JSON. Raises: GraphQLFailure if it is refused before anything runs; RejectedRequest."""
        try:
            if request.path not in ("", "/"):
                raise RejectedRequest(404, "There is nothing below this path")
            if request.method in ("GET", "HEAD"):
                return await self._get(request)
            if request.method != "POST":
                raise WrongMethod("Send a query by POST or GET", "GET, HEAD, POST")
            data = await body.read(self._max_body)
            return await self._answer(request, parse_body(data), data)
        except DatabaseError as error:
            return failure_response([failure_from(error)])
        except BodyTooLarge as error:
            raise RejectedRequest(error.status, str(error)) from None
        except msgspec.MsgspecError:  # the catalogs contradict themselves: a migration is at work
            raise RejectedRequest(503, "The schema is changing", [("retry-after", "1")]) from None
        except Disconnected:
            raise RejectedRequest(503, "Database connection error", [("retry-after", "1")]) from None
        except PoolBusy as error:
            raise RejectedRequest(503, str(error), [("retry-after", str(error.retry_after_s))]) from None
        except PoolTimeout as error:
            raise RejectedRequest(504, str(error)) from None

    async def _get(self, request: Request) -> Response | StreamedResponse:
        """Answer a GET: a query in the query string, the schema definition (`?sdl`), or the page for browsers."""
        if request.query == "sdl" or request.query.startswith("sdl="):
            return await self._definition(request)
        is_browser = "text/html" in (header(request.headers, "accept") or "")
        if self._has_page and is_browser and "query=" not in request.query:
            headers = [
                ("content-type", "text/html; charset=utf-8"),
                ("content-security-policy", _PAGE_POLICY),
                ("cache-control", "no-store"),
                ("vary", "Accept"),
            ]
            return Response(200, headers, _PAGE)
        return await self._answer(request, parse_query_string(request.query))

    async def _definition(self, request: Request) -> Response:
        state = self._state()
        role = await state.role(state.identities.of(request.caller).role)
        if not role.schema.has_introspection:
            raise RejectedRequest(404, "Introspection is switched off")
        text = await self._offload(True, lambda: role.definition.text)
        headers = [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")]
        return Response(200, headers, text.encode())

    async def _answer(
        self, request: Request, graphql_request: GraphQLRequest, data: bytes = b""
    ) -> Response | StreamedResponse:
        text = self._persisted.document(graphql_request)
        state = self._state()
        try:
            return await self._run(request, graphql_request, text, state, data)
        except StaleSchema as stale:  # a migration was faster than the schema cache
            await self._wait_for_new_state(state)
            state, message = self._state(), stale.failure.message
        if len(state.missing_names) < _MOST_MISSING:
            state.missing_names.add(message)
        try:
            return await self._run(request, graphql_request, text, state, data)
        except StaleSchema as stale:
            return failure_response([stale.failure])

    async def _run(
        self, request: Request, graphql_request: GraphQLRequest, text: str, state: GraphQLState, data: bytes
    ) -> Response | StreamedResponse:
        is_large = len(data) > _LARGE
        identity = state.identities.of(request.caller)
        role = state.built_role(identity.role) or await state.role(identity.role)
        cached = role.cached_operation(text, graphql_request.operation)
        if cached is None:
            cached = await self._offload(
                len(text) > _LONG or role.is_strict, role.operation, text, graphql_request.operation
            )
        self._persisted.store(graphql_request)
        if request.method != "POST" and is_mutation(cached.operation):
            raise WrongMethod("A mutation must be sent by POST", "POST")
        # The key of a plan is made of all variables, so for large ones it is looked for in the thread.
        operation = None if is_large else cached_plan(cached, graphql_request.variables)
        if operation is None:
            is_heavy = is_large or cached.document.fields > _MANY or not role.validator.is_ready
            operation = await self._offload(is_heavy, role.compile, cached, graphql_request.variables)
        context = transaction_context(
            request, identity, state.database_role(identity.role), state.api, state.missing_names
        )
        if operation.single_read is not None and not is_large:
            return await answer_single_read(
                operation.single_read, graphql_request.variables, context, self._pool
            )
        outcome = OperationOutcome(operation.fields)
        await self._answer_without_database(outcome, role, cached, graphql_request)
        bound = await self._offload(is_large, bind_statements, operation, outcome, graphql_request.variables)
        keys = self._keyed_writes if operation.is_mutation else None
        keyed = keyed_mutation(request, identity, data) if keys is not None else None
        if failures := outcome.reported_failures(is_mutation=operation.is_mutation):
            raise RefusedOperation(failures)
        if keys is not None and keyed is not None:
            return await execute_keyed(keys, keyed, bound, outcome, context)
        await execute(operation, bound, outcome, context, self._pool)
        return respond(outcome, is_mutation=operation.is_mutation)

    async def _offload(self, is_heavy: bool, work: Callable[..., T], *args: object) -> T:
        """Call a function: in the thread if it is heavy, else directly. Raises: as the function."""
        if not is_heavy:
            return work(*args)
        return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: work(*args))

    async def _answer_without_database(
        self,
        outcome: OperationOutcome,
        role: RoleState,
        cached: CachedOperation,
        graphql_request: GraphQLRequest,
    ) -> None:
        """Record type names, answers to introspection, and failures of planning in the outcome."""
        for index, field in enumerate(outcome.fields):
            match field.work:
                case bytes():
                    outcome.values[index] = field.work
                case GraphQLFailure():
                    outcome.failures[index] = field.work
                case IntrospectionQuery(nodes):
                    key = (cached, field.name)
                    variables = _variables_with_defaults(cached, graphql_request)
                    answer, fragments = role.introspector.answer_json, cached.document.fragments
                    is_cached = not variables and role.introspector.is_cached(key)
                    try:
                        outcome.values[index] = await self._offload(
                            not is_cached, answer, nodes, fragments, variables, key
                        )
                    except GraphQLFailure as failure:
                        outcome.failures[index] = failure


def _variables_with_defaults(cached: CachedOperation, graphql_request: GraphQLRequest) -> dict[str, object]:
    """Return the variables that the document uses, with the operation's defaults for absent ones (scalars only)."""
    used = cached.document.variables
    if not used:
        return {}
    defaults = {
        definition.variable.name.value: getattr(definition.default_value, "value", None)
        for definition in cached.operation.variable_definitions or ()
        if definition.default_value is not None
    }
    return {name: value for name, value in (defaults | graphql_request.variables).items() if name in used}
