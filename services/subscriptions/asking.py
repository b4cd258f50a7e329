"""What is asked of the GraphQL pool for a socket (`schemas/subscriptions.py`)."""

import contextlib
import secrets
from dataclasses import dataclass

import msgspec

from broker.codec import encode
from broker.requests.call import Calls
from broker.subjects import GRAPHQL
from schemas import subscriptions
from schemas.caller import Caller
from schemas.errors import Unavailable
from schemas.http import Headers, Request, Response, header
from schemas.subscriptions import Followed, RowsAsked, RowsFound
from services.subscriptions.protocol import errors_of

_PASSING = frozenset({502, 503, 504})
_read_followed: msgspec.msgpack.Decoder[Followed] = msgspec.msgpack.Decoder(Followed)
_read_rows = msgspec.msgpack.Decoder(RowsFound).decode


class OperationRefused(Exception):
    """An operation that ends with an error: the JSON list of its errors."""

    def __init__(self, errors: bytes) -> None:
        super().__init__("the operation is refused")
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who acts on a socket, and the headers that policies may look at."""

    caller: Caller
    headers: Headers
    caller_key: str = ""
    """Whose share of the workers its queries take (services/middleware/caller_key.py)."""


class _Answer(msgspec.Struct):
    errors: msgspec.Raw = msgspec.Raw(b"")


class Asking:
    """Asks the pool. `max_answer` bounds what is taken of one answer, in bytes."""

    def __init__(self, calls: Calls, timeout_s: float, max_answer: int) -> None:
        self._calls, self._budget_ms, self._max_answer = calls, int(timeout_s * 1000), max_answer

    async def plan(self, visitor: Visitor, operation: bytes) -> Followed | bytes:
        """Ask what is to be followed; the bytes are the result of a query or mutation, which is done.

        Raises: OperationRefused, Unavailable, DeadlineExceeded.
        """
        response = await self._ask(visitor, subscriptions.PLAN, operation)
        if header(response.headers, "content-type") != subscriptions.MEDIA_TYPE:
            return response.body
        try:
            return _read_followed.decode(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unavailable("a worker answered in a form that is not understood") from None

    async def run(self, visitor: Visitor, operation: bytes) -> bytes:
        """Run a live query. Raises: as `plan`."""
        return (await self._ask(visitor, subscriptions.RUN, operation)).body

    async def rows(self, visitor: Visitor, operation: bytes, keys: list[list[str]]) -> RowsFound:
        """Read changed rows. Raises: as `plan`."""
        response = await self._ask(visitor, subscriptions.ROWS, encode(RowsAsked(operation, keys)))
        if header(response.headers, "content-type") != subscriptions.MEDIA_TYPE:
            raise OperationRefused(_errors(response))
        try:
            return _read_rows(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Unavailable("a worker answered in a form that is not understood") from None

    async def _ask(self, visitor: Visitor, path: str, body: bytes) -> Response:
        """Ask, and give the answer with its whole body."""
        request = Request(
            id=secrets.token_hex(16),
            method=subscriptions.METHOD,
            path=path,
            headers=visitor.headers,
            caller=visitor.caller,
            budget_ms=self._budget_ms,
            body=body,
            caller_key=visitor.caller_key,
        )
        answer = await self._calls.call(GRAPHQL, request)
        response = answer.response
        if answer.chunks is not None:
            pieces, size = [], 0
            async with contextlib.aclosing(answer.chunks):
                async for piece in answer.chunks:
                    size += len(piece)
                    if size > self._max_answer:
                        break
                    pieces.append(piece)
            await answer.close()
            response = msgspec.structs.replace(response, body=b"".join(pieces), stream=None)
            if size > self._max_answer:
                raise OperationRefused(
                    errors_of("The result is too large to be sent over a socket", "TOO_LARGE")
                )
        if response.status in _PASSING:
            raise Unavailable(_first_message(response))
        if response.status != 200:
            raise OperationRefused(_errors(response))
        return response


def _errors(response: Response) -> bytes:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        found = bytes(msgspec.json.decode(response.body, type=_Answer).errors)
        if found:
            return found
    return errors_of(f"The request was refused ({response.status})")


def _first_message(response: Response) -> str:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        errors = msgspec.json.decode(_errors(response), type=list[dict[str, object]])
        if errors:
            return str(errors[0].get("message"))
    return "the GraphQL interface is not available"
