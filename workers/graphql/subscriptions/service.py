"""Entry of the GraphQL pool: answers the subscription edge, and passes all other requests to `GraphQLWorker`."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from broker.requests.handler import BodyTooLarge, RequestBody, StreamedResponse
from schemas.http import Request, Response
from schemas.subscriptions import METHOD, PLAN, ROWS, RUN
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.graphql.context import transaction_context
from workers.graphql.errors import GraphQLFailure, MalformedRequest, RejectedRequest, StaleSchema
from workers.graphql.execute import failure_from
from workers.graphql.parse.body import GraphQLRequest, parse_body
from workers.graphql.respond import failure_response
from workers.graphql.state import GraphQLState
from workers.graphql.subscriptions.requests import (
    SubscriptionQueries,
    SubscriptionRequest,
    is_subscription,
    plan_rejection,
    read_rows,
)
from workers.graphql.worker import GraphQLWorker

_LONG = 4096
"""Characters of a document beyond which it is parsed in a thread."""
_MOST_MISSING = 1000


class SubscribableWorker:
    """Answers GraphQL requests and the requests of the subscription edge."""

    def __init__(
        self,
        worker: GraphQLWorker,
        pool: ConnectionPool,
        max_body: int,
        state: Callable[[], GraphQLState],
        wait_for_new_state: Callable[[GraphQLState], Awaitable[bool]],
    ) -> None:
        self._worker, self._max_body, self._state, self._wait_for_new_state = (
            worker,
            max_body,
            state,
            wait_for_new_state,
        )
        self._subscriptions = SubscriptionQueries(pool)

    def answer(self, request: Request, body: RequestBody) -> Awaitable[Response | StreamedResponse]:
        """Answer one request. Raises: RejectedRequest, which is sent as an answer too; anything else is a defect."""
        if request.method != METHOD:
            return self._worker.answer(request, body)
        return self._answer_edge(request, body)

    async def _answer_edge(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        try:
            return await self._answer(request, await body.read(self._max_body))
        except GraphQLFailure as failure:
            return plan_rejection(failure) if request.path == PLAN else failure_response([failure])
        except DatabaseError as error:
            database_failure = failure_from(error)
            return (
                plan_rejection(database_failure)
                if request.path == PLAN
                else failure_response([database_failure])
            )
        except BodyTooLarge as error:
            raise RejectedRequest(error.status, str(error)) from None
        except (msgspec.MsgspecError, Disconnected):
            raise RejectedRequest(503, "The database cannot be asked now", [("retry-after", "1")]) from None
        except PoolBusy as error:
            raise RejectedRequest(503, str(error), [("retry-after", str(error.retry_after_s))]) from None
        except PoolTimeout as error:
            raise RejectedRequest(504, str(error)) from None

    async def _answer(self, request: Request, data: bytes) -> Response | StreamedResponse:
        keys = None
        operation = data
        if request.path == ROWS:
            rows = read_rows(data)
            operation, keys = rows.operation, rows.keys
        elif request.path not in (PLAN, RUN):
            raise RejectedRequest(404, "There is nothing below this path")
        graphql_request = parse_body(operation)
        state = self._state()
        try:
            return await self._answer_as_caller(request, graphql_request, data, keys, state)
        except StaleSchema as stale:
            await self._wait_for_new_state(state)
            state, message = self._state(), stale.failure.message
        if len(state.missing_names) < _MOST_MISSING:
            state.missing_names.add(message)
        try:
            return await self._answer_as_caller(request, graphql_request, data, keys, state)
        except StaleSchema as stale:
            raise stale.failure from None

    async def _answer_as_caller(
        self,
        request: Request,
        graphql_request: GraphQLRequest,
        data: bytes,
        keys: list[list[str]] | None,
        state: GraphQLState,
    ) -> Response | StreamedResponse:
        text = graphql_request.query
        if text is None:
            raise MalformedRequest("The operation must have a text `query`")
        identity = state.identities.of(request.caller)
        role = await state.role(identity.role)
        cached = role.cached_operation(text, graphql_request.operation)
        if cached is None:
            is_long = len(text) > _LONG
            parse = role.operation
            cached = (
                await asyncio.to_thread(parse, text, graphql_request.operation)
                if is_long
                else parse(text, graphql_request.operation)
            )
        as_query = msgspec.structs.replace(request, method="POST", path="/", body=b"", stream=None)
        if request.path == PLAN and not is_subscription(cached.operation):
            return await self._worker.answer(as_query, _BufferedBody(data))
        subscription = SubscriptionRequest(graphql_request, text, role, identity, state.limits)
        if request.path == PLAN:
            return await self._subscriptions.plan(subscription)
        context = transaction_context(
            as_query, identity, state.database_role(identity.role), state.api, state.missing_names
        )
        if keys is not None:
            return await self._subscriptions.rows(subscription, keys, context)
        return await self._subscriptions.run(subscription, context)


class _BufferedBody(RequestBody):
    """A body that has been read already."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self._data)

    async def read(self, limit: int) -> bytes:
        """Return the whole body. Raises: BodyTooLarge."""
        if len(self._data) > limit:
            raise BodyTooLarge(limit)
        return self._data
