"""The door of the GraphQL pool with subscriptions: their questions are answered here, everything else by the worker."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from broker.requests.handler import BodyTooLarge, RequestBody, StreamedResponse
from schemas.http import Request, Response
from schemas.subscriptions import METHOD, PLAN, ROWS, RUN
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolBusy, PoolTimeout
from workers.graphql.around import around
from workers.graphql.errors import BadRequest, GraphQLFailure, Refused, StaleSchema
from workers.graphql.execute import failure_of
from workers.graphql.following.answer import Asking, Following, is_subscription, read_rows, refused
from workers.graphql.parse.body import Asked, asked_in_body
from workers.graphql.respond import failed
from workers.graphql.state import State
from workers.graphql.worker import GraphQLWorker

_LONG = 4096
"""Characters of a document beyond which it is parsed aside."""
_MOST_MISSING = 1000


class SubscribableWorker:
    """Answers GraphQL requests and the questions of the edge of subscriptions."""

    def __init__(
        self,
        worker: GraphQLWorker,
        pool: ConnectionPool,
        max_body: int,
        state: Callable[[], State],
        renewed: Callable[[State], Awaitable[bool]],
    ) -> None:
        self._worker, self._max_body, self._state, self._renewed = worker, max_body, state, renewed
        self._following = Following(pool)

    async def answer(self, request: Request, body: RequestBody) -> Response | StreamedResponse:
        """Answer one request. Every refusal is an answer; only defects raise."""
        if request.method != METHOD:
            return await self._worker.answer(request, body)
        try:
            return await self._answer(request, await body.read(self._max_body))
        except GraphQLFailure as failure:
            return refused(failure) if request.path == PLAN else failed([failure])
        except DatabaseError as error:
            told = failure_of(error)
            return refused(told) if request.path == PLAN else failed([told])
        except BodyTooLarge as error:
            raise Refused(error.status, str(error)) from None
        except (msgspec.MsgspecError, Disconnected):
            raise Refused(503, "The database cannot be asked now", [("retry-after", "1")]) from None
        except PoolBusy as error:
            raise Refused(503, str(error), [("retry-after", str(error.retry_after_s))]) from None
        except PoolTimeout as error:
            raise Refused(504, str(error)) from None

    async def _answer(self, request: Request, data: bytes) -> Response | StreamedResponse:
        keys = None
        operation = data
        if request.path == ROWS:
            rows = read_rows(data)
            operation, keys = rows.operation, rows.keys
        elif request.path not in (PLAN, RUN):
            raise Refused(404, "There is nothing below this path")
        asked = asked_in_body(operation)
        state = self._state()
        try:
            return await self._do(request, asked, data, keys, state)
        except StaleSchema as stale:
            await self._renewed(state)
            state, message = self._state(), stale.failure.message
        if len(state.known_missing) < _MOST_MISSING:
            state.known_missing.add(message)
        try:
            return await self._do(request, asked, data, keys, state)
        except StaleSchema as stale:
            raise stale.failure from None

    async def _do(
        self, request: Request, asked: Asked, data: bytes, keys: list[list[str]] | None, state: State
    ) -> Response | StreamedResponse:
        text = asked.query
        if text is None:
            raise BadRequest("The operation must have a text `query`")
        identity = state.identities.of(request.caller)
        role = await state.role(identity.role)
        known = role.known(text, asked.operation)
        if known is None:
            is_long = len(text) > _LONG
            parse = role.operation
            known = (
                await asyncio.to_thread(parse, text, asked.operation)
                if is_long
                else parse(text, asked.operation)
            )
        as_query = msgspec.structs.replace(request, method="POST", path="/", body=b"", stream=None)
        if request.path == PLAN and not is_subscription(known.operation):
            return await self._worker.answer(as_query, _Whole(data))
        asking = Asking(asked, text, role, identity, state.limits)
        if request.path == PLAN:
            return await self._following.plan(asking)
        settings = around(
            as_query, identity, state.database_role(identity.role), state.api, state.known_missing
        )
        if keys is not None:
            return await self._following.rows(asking, keys, settings)
        return await self._following.run(asking, settings)


class _Whole(RequestBody):
    """A body that was read already."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self._data)

    async def read(self, limit: int) -> bytes:
        """Give the body. Raises: BodyTooLarge."""
        if len(self._data) > limit:
            raise BodyTooLarge(limit)
        return self._data
