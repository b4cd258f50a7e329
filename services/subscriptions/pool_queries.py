"""Queries of a socket's operations to the GraphQL pool (`schemas/subscriptions.py`)."""

import contextlib
import hashlib
import secrets
from dataclasses import dataclass

import msgspec

from broker.codec import encode
from broker.requests.call import Calls
from broker.subjects import GRAPHQL, Subject
from schemas import subscriptions
from schemas.caller import Caller
from schemas.errors import Unavailable
from schemas.http import Headers, Request, Response, header
from schemas.subscriptions import LiveQueryPlan, OperationErrors, RowsAnswer, RowsQuery, SubscriptionPlan
from services.subscriptions.protocol import errors_of

_PASSING = frozenset({502, 503, 504})
_read_followed: msgspec.msgpack.Decoder[SubscriptionPlan] = msgspec.msgpack.Decoder(SubscriptionPlan)
_read_rows = msgspec.msgpack.Decoder(RowsAnswer).decode


class OperationRejected(Exception):
    """The operation ends with these errors, a JSON list. `response`: what a client of HTTP gets instead."""

    def __init__(self, errors: bytes, response: Response | None = None) -> None:
        super().__init__("the operation is refused")
        self.errors, self.response = errors, response


@dataclass(frozen=True, slots=True)
class OperationCaller:
    """The caller of a socket, and the headers that policies may read."""

    caller: Caller
    headers: Headers
    caller_key: str = ""
    """Key by which its share of the workers is counted (services/middleware/caller_key.py)."""


@dataclass(frozen=True, slots=True)
class GraphQLSource:
    """A live query of GraphQL: its operation as the client sent it."""

    queries: "OperationQueries"
    caller: OperationCaller
    operation: bytes

    @property
    def key(self) -> bytes:
        """Return a digest of the operation and its caller."""
        return hashlib.sha256(encode([self.caller.caller, self.caller.headers, self.operation])).digest()

    async def plan(self) -> LiveQueryPlan:
        """Return the tables to follow. Raises: OperationRejected, Unavailable, DeadlineExceeded."""
        plan = await self.queries.plan(self.caller, self.operation)
        if isinstance(plan, OperationErrors):
            raise OperationRejected(plan.errors)
        if not isinstance(plan, LiveQueryPlan):
            raise OperationRejected(errors_of("The field is no longer one of Query"))
        return plan

    async def run(self) -> bytes:
        """Return the JSON of the execution result. Raises: as `plan`."""
        return await self.queries.run(self.caller, self.operation)


class _Answer(msgspec.Struct):
    errors: msgspec.Raw = msgspec.Raw(b"")


class OperationQueries:
    """Sends the queries. `max_answer` is the limit of one answer in bytes."""

    def __init__(self, calls: Calls, timeout_s: float, max_answer: int) -> None:
        self._calls, self._budget_ms, self._max_answer = calls, int(timeout_s * 1000), max_answer

    async def plan(self, caller: OperationCaller, operation: bytes) -> SubscriptionPlan | bytes:
        """Return the plan of a subscription; bytes are the result of a query or mutation, which is complete.

        Raises: OperationRejected, Unavailable, DeadlineExceeded.
        """
        response = await self._query(caller, subscriptions.PLAN, operation)
        if header(response.headers, "content-type") != subscriptions.MEDIA_TYPE:
            return response.body
        try:
            return _read_followed.decode(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unavailable("a worker answered in a form that is not understood") from None

    async def run(self, caller: OperationCaller, operation: bytes) -> bytes:
        """Return the result of a live query. Raises: as `plan`."""
        return (await self._query(caller, subscriptions.RUN, operation)).body

    async def rows(self, caller: OperationCaller, operation: bytes, keys: list[list[str]]) -> RowsAnswer:
        """Return the selected fields of changed rows. Raises: as `plan`."""
        response = await self._query(caller, subscriptions.ROWS, encode(RowsQuery(operation, keys)))
        if header(response.headers, "content-type") != subscriptions.MEDIA_TYPE:
            raise OperationRejected(_errors(response))
        try:
            return _read_rows(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unavailable("a worker answered in a form that is not understood") from None

    async def _query(self, caller: OperationCaller, path: str, body: bytes) -> Response:
        """Send a query and return the response with its complete body."""
        request = Request(
            id=secrets.token_hex(16),
            method=subscriptions.METHOD,
            path=path,
            headers=caller.headers,
            caller=caller.caller,
            budget_ms=self._budget_ms,
            body=body,
            caller_key=caller.caller_key,
        )
        response = await whole_response(self._calls, GRAPHQL, request, self._max_answer)
        if response is None:
            raise OperationRejected(
                errors_of("The result is too large to be sent over a socket", "TOO_LARGE")
            )
        if response.status in _PASSING:
            raise Unavailable(_first_message(response))
        if response.status != 200:
            raise OperationRejected(_errors(response))
        return response


async def whole_response(calls: Calls, subject: Subject, request: Request, most: int) -> Response | None:
    """Return the response of a pool with its complete body; None if one that is streamed is longer than `most` bytes.

    Raises: as `Calls.call`.
    """
    answer = await calls.call(subject, request)
    response = answer.response
    if answer.chunks is not None:
        pieces, size = list[bytes](), 0
        async with contextlib.aclosing(answer.chunks):
            async for piece in answer.chunks:
                size += len(piece)
                if size > most:
                    break
                pieces.append(piece)
        await answer.close()
        if size > most:
            return None
        return msgspec.structs.replace(response, body=b"".join(pieces), stream=None)
    return response


def _errors(response: Response) -> bytes:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        errors = bytes(msgspec.json.decode(response.body, type=_Answer).errors)
        if errors:
            return errors
    return errors_of(f"The request was refused ({response.status})")


def _first_message(response: Response) -> str:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        errors = msgspec.json.decode(_errors(response), type=list[dict[str, object]])
        if errors:
            return str(errors[0].get("message"))
    return "the GraphQL interface is not available"
