"""The GraphQL pool: the five steps in order, and what surrounds them.

A request comes as a `Request` and leaves as a `Response`; what fails is an entry of `errors`, with status 200, unless it
is no GraphQL request at all. The steps know nothing of messages or of configuration being reloaded.
"""

from collections.abc import Awaitable, Callable
from importlib import resources

import msgspec

from broker.serve import Body, BodyTooLarge, Streamed
from schemas.errors import ApiError
from schemas.http import Request, Response, header
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.pool import Pool
from workers.graphql.around import around
from workers.graphql.compiled import Compiled
from workers.graphql.errors import GraphQLFailure, Refused, StaleSchema, WrongMethod
from workers.graphql.execute import Outcome, execute, failure_of
from workers.graphql.parse.body import Asked, asked_in_body, asked_in_url
from workers.graphql.parse.document import is_mutation
from workers.graphql.parse.persisted import PersistedQueries
from workers.graphql.plan.operation import Introspect
from workers.graphql.respond import failed, respond
from workers.graphql.role import Known, RoleState
from workers.graphql.state import State
from workers.rest.identity import Identity

_PAGE = resources.files("workers.graphql").joinpath("page.html").read_bytes()
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_MOST_MISSING = 1000


class GraphQLWorker:
    """Answers GraphQL requests with the state it is given. `max_body` bounds what it reads, in bytes.

    `renewed` waits for a state after one that no longer fits the database, and tells whether it came.
    """

    def __init__(
        self,
        pool: Pool,
        max_body: int,
        state: Callable[[], State],
        renewed: Callable[[State], Awaitable[bool]],
        persisted: PersistedQueries,
        *,
        has_page: bool,
    ) -> None:
        self._pool, self._max_body, self._state, self._renewed = pool, max_body, state, renewed
        self._persisted, self._has_page = persisted, has_page

    async def answer(self, request: Request, body: Body) -> Response | Streamed:
        """Answer one request. Every refusal is an answer; only defects raise."""
        try:
            if request.path not in ("", "/"):
                raise Refused(404, "There is nothing below this path")
            if request.method == "GET":
                return await self._get(request)
            if request.method != "POST":
                raise WrongMethod("Send a query by POST or GET", "GET, POST")
            asked = asked_in_body(await body.read(self._max_body))
            return await self._answer(request, asked)
        except GraphQLFailure as failure:
            return failed([failure])
        except DatabaseError as error:
            return failed([failure_of(error)])
        except BodyTooLarge as error:
            raise Refused(error.status, str(error)) from None
        except msgspec.MsgspecError:  # the catalogs contradict themselves: a migration is at work
            raise Refused(503, "The schema is changing", [("retry-after", "1")]) from None
        except Disconnected:
            raise Refused(503, "Database connection error", [("retry-after", "1")]) from None
        except PoolTimeout as error:
            raise Refused(504, str(error)) from None

    async def _get(self, request: Request) -> Response | Streamed:
        """Answer a GET: a query in the query string, or the page for browsers."""
        is_browser = "text/html" in (header(request.headers, "accept") or "")
        if self._has_page and is_browser and "query=" not in request.query:
            headers = [
                ("content-type", "text/html; charset=utf-8"),
                ("content-security-policy", _PAGE_POLICY),
                ("cache-control", "no-store"),
            ]
            return Response(200, headers, _PAGE)
        return await self._answer(request, asked_in_url(request.query))

    async def _answer(self, request: Request, asked: Asked) -> Response | Streamed:
        text = self._persisted.document(asked)
        state = self._state()
        try:
            return await self._run(request, asked, text, state)
        except StaleSchema as stale:
            await self._renewed(state)
            state, message = self._state(), stale.failure.message
        if len(state.known_missing) < _MOST_MISSING:
            state.known_missing.add(message)
        try:
            return await self._run(request, asked, text, state)
        except StaleSchema as stale:
            return failed([stale.failure])

    async def _run(self, request: Request, asked: Asked, text: str, state: State) -> Response | Streamed:
        identity = _identity(state, request)
        role = await state.role(identity.role)
        known = role.operation(text, asked.operation)
        if is_mutation(known.operation) and request.method == "GET":
            raise WrongMethod("A mutation must be sent by POST", "POST")
        operation = role.compiled(known, asked.variables)
        outcome = _prepared(operation, role, known, asked)
        settings = around(
            request, identity, state.database_role(identity.role), state.api, state.known_missing
        )
        await execute(operation, outcome, asked.variables, settings, self._pool)
        return respond(outcome, is_mutation=operation.is_mutation)


def _identity(state: State, request: Request) -> Identity:
    """Give who calls. Raises: Refused (401) for a token that does not hold."""
    try:
        return state.identities.of(request.caller)
    except ApiError as error:
        raise Refused(error.status, str(error), [("www-authenticate", "Bearer")]) from None


def _prepared(operation: Compiled, role: RoleState, known: Known, asked: Asked) -> Outcome:
    """Fill in what needs no database: names of types, answers about types, and what failed in planning."""
    outcome = Outcome(operation.fields)
    for place, one in enumerate(operation.fields):
        match one.work:
            case bytes():
                outcome.values[place] = one.work
            case GraphQLFailure():
                outcome.failures[place] = one.work
            case Introspect(nodes):
                key = (id(known), one.name)
                variables = _with_defaults(known, asked)
                try:
                    outcome.values[place] = role.introspector.answer_json(
                        nodes, known.document.fragments, variables, key
                    )
                except GraphQLFailure as failure:
                    outcome.failures[place] = failure
    return outcome


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
