"""The GraphQL pool: the five steps in order, and what surrounds them.

A request comes as a `Request` and leaves as a `Response`; what fails is an entry of `errors`, with status 200, unless it
is no GraphQL request at all. The steps know nothing of messages or of configuration being reloaded.
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
from workers.graphql.around import around
from workers.graphql.errors import GraphQLFailure, Refused, StaleSchema, WrongMethod
from workers.graphql.execute import Outcome, bind, execute, failure_of
from workers.graphql.keyed import execute_keyed, keyed_mutation
from workers.graphql.parse.body import Asked, asked_in_body, asked_in_url
from workers.graphql.parse.document import is_mutation
from workers.graphql.parse.persisted import PersistedQueries
from workers.graphql.plan.operation import Introspect
from workers.graphql.respond import failed, respond
from workers.graphql.role import Known, RoleState, kept_plan
from workers.graphql.state import State
from workers.idempotency.writes import KeyedWrites

_PAGE = resources.files("workers.graphql").joinpath("page.html").read_bytes()
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_MOST_MISSING = 1000
_LONG, _MANY, _LARGE = 4096, 200, 256 * 1024
"""Characters of a document, fields of an operation, and bytes of a body beyond which work is done aside; below, it takes
some milliseconds."""
T = TypeVar("T")


class GraphQLWorker:
    """Answers GraphQL requests with the state it is given. `max_body` bounds what it reads, in bytes.

    `renewed` waits for a state after one that no longer fits the database, and tells whether it came.
    """

    def __init__(
        self,
        pool: ConnectionPool,
        max_body: int,
        state: Callable[[], State],
        renewed: Callable[[State], Awaitable[bool]],
        persisted: PersistedQueries,
        *,
        has_page: bool,
        keyed_writes: KeyedWrites | None = None,
    ) -> None:
        self._pool, self._max_body, self._state, self._renewed = pool, max_body, state, renewed
        self._persisted, self._has_page = persisted, has_page
        self._keyed_writes = keyed_writes
        self._aside = ThreadPoolExecutor(1, "graphql")
        """Where large documents are worked on, one after the other: requests that come meanwhile do not wait."""

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request. Every refusal is an answer; only defects raise."""
        try:
            if request.path not in ("", "/"):
                raise Refused(404, "There is nothing below this path")
            if request.method == "GET":
                return await self._get(request)
            if request.method != "POST":
                raise WrongMethod("Send a query by POST or GET", "GET, POST")
            data = await body.read(self._max_body)
            return await self._answer(request, asked_in_body(data), data)
        except GraphQLFailure as failure:
            return failed(failure.every)
        except DatabaseError as error:
            return failed([failure_of(error)])
        except BodyTooLarge as error:
            raise Refused(error.status, str(error)) from None
        except msgspec.MsgspecError:  # the catalogs contradict themselves: a migration is at work
            raise Refused(503, "The schema is changing", [("retry-after", "1")]) from None
        except Disconnected:
            raise Refused(503, "Database connection error", [("retry-after", "1")]) from None
        except PoolBusy as error:
            raise Refused(503, str(error), [("retry-after", str(error.retry_after_s))]) from None
        except PoolTimeout as error:
            raise Refused(504, str(error)) from None

    async def _get(self, request: Request) -> Response | StreamedResponse:
        """Answer a GET: a query in the query string, the schema's definition, or the page for browsers."""
        if request.query == "sdl" or request.query.startswith("sdl="):
            return await self._definition(request)
        is_browser = "text/html" in (header(request.headers, "accept") or "")
        if self._has_page and is_browser and "query=" not in request.query:
            headers = [
                ("content-type", "text/html; charset=utf-8"),
                ("content-security-policy", _PAGE_POLICY),
                ("cache-control", "no-store"),
            ]
            return Response(200, headers, _PAGE)
        return await self._answer(request, asked_in_url(request.query))

    async def _definition(self, request: Request) -> Response:
        state = self._state()
        role = await state.role(state.identities.of(request.caller).role)
        if not role.schema.has_introspection:
            raise Refused(404, "Introspection is switched off")
        text = await self._do(True, lambda: role.definition.text)
        headers = [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store")]
        return Response(200, headers, text.encode())

    async def _answer(self, request: Request, asked: Asked, data: bytes = b"") -> Response | StreamedResponse:
        text = self._persisted.document(asked)
        state = self._state()
        try:
            return await self._run(request, asked, text, state, data)
        except StaleSchema as stale:
            await self._renewed(state)
            state, message = self._state(), stale.failure.message
        if len(state.known_missing) < _MOST_MISSING:
            state.known_missing.add(message)
        try:
            return await self._run(request, asked, text, state, data)
        except StaleSchema as stale:
            return failed([stale.failure])

    async def _run(
        self, request: Request, asked: Asked, text: str, state: State, data: bytes
    ) -> Response | StreamedResponse:
        is_large = len(data) > _LARGE
        identity = state.identities.of(request.caller)
        role = await state.role(identity.role)
        known = role.known(text, asked.operation)
        if known is None:
            known = await self._do(len(text) > _LONG or role.is_strict, role.operation, text, asked.operation)
        if is_mutation(known.operation) and request.method == "GET":
            raise WrongMethod("A mutation must be sent by POST", "POST")
        operation = kept_plan(known, asked.variables)
        if operation is None:
            is_heavy = is_large or known.document.fields > _MANY
            operation = await self._do(is_heavy, role.compiled, known, asked.variables)
        outcome = Outcome(operation.fields)
        await self._answer_without_database(outcome, role, known, asked)
        bound = await self._do(is_large, bind, operation, outcome, asked.variables)
        settings = around(
            request, identity, state.database_role(identity.role), state.api, state.known_missing
        )
        if operation.is_mutation and self._keyed_writes is not None:
            keyed = keyed_mutation(request, identity, data)
            if keyed is not None:
                return await execute_keyed(self._keyed_writes, keyed, bound, outcome, settings)
        await execute(operation, bound, outcome, settings, self._pool)
        return respond(outcome, is_mutation=operation.is_mutation)

    async def _do(self, is_heavy: bool, work: Callable[..., T], *args: object) -> T:
        """Do something at once, or aside where it takes long. Raises: as the work."""
        if not is_heavy:
            return work(*args)
        return await asyncio.get_running_loop().run_in_executor(self._aside, lambda: work(*args))

    async def _answer_without_database(
        self, outcome: Outcome, role: RoleState, known: Known, asked: Asked
    ) -> None:
        """Fill in names of types, answers about types, and what failed in planning."""
        for place, one in enumerate(outcome.fields):
            match one.work:
                case bytes():
                    outcome.values[place] = one.work
                case GraphQLFailure():
                    outcome.failures[place] = one.work
                case Introspect(nodes):
                    key = (id(known), one.name)
                    variables = _with_defaults(known, asked)
                    answer, fragments = role.introspector.answer_json, known.document.fragments
                    is_kept = not variables and role.introspector.is_kept(key)
                    try:
                        outcome.values[place] = await self._do(
                            not is_kept, answer, nodes, fragments, variables, key
                        )
                    except GraphQLFailure as failure:
                        outcome.failures[place] = failure


def _with_defaults(known: Known, asked: Asked) -> dict[str, object]:
    """Give the variables over the defaults of the operation, as far as introspection takes them."""
    used = known.document.variables
    if not used:
        return {}
    defaults = {
        one.variable.name.value: getattr(one.default_value, "value", None)
        for one in known.operation.variable_definitions or ()
        if one.default_value is not None
    }
    return {name: value for name, value in (defaults | asked.variables).items() if name in used}
