"""Step five: the answer of what was executed. What Postgres wrote is passed on as it is. Pure.

Source: reference page "graphql", section 2.
"""

from collections.abc import AsyncIterator, Iterable

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Headers, Response
from workers.database.protocol.long_value import LongValue
from workers.graphql.errors import GraphQLFailure
from workers.graphql.execute import Outcome

JSON: Headers = [("content-type", "application/json; charset=utf-8")]


def respond(outcome: Outcome, *, is_mutation: bool) -> Response | StreamedResponse:
    """Make the answer: the fields that succeeded in the order of the document, and what became of the others."""
    failures = [outcome.failures[place] for place in sorted(outcome.failures)]
    if failures and (is_mutation or not outcome.values):
        outcome.abandon()
        return failed(failures[:1] if is_mutation else failures)
    tail: list[bytes] = []
    head = [b'{"data":{']
    long: LongValue | None = None
    is_first = True
    for place in sorted(outcome.values):
        out = head if long is None else tail
        out.append(outcome.fields[place].key if is_first else b"," + outcome.fields[place].key)
        is_first = False
        value = outcome.values[place]
        if isinstance(value, LongValue):
            long = value
        else:
            out.append(value)
    out = head if long is None else tail
    out.append(b'},"errors":' + _errors(failures) + b"}" if failures else b"}}")
    if long is None:
        return Response(200, list(JSON), b"".join(head))
    begin, end = b"".join(head), b"".join(tail)
    return StreamedResponse(
        200, list(JSON), _around(begin, long, end), size=len(begin) + long.size + len(end)
    )


def failed(failures: Iterable[GraphQLFailure]) -> Response:
    """Make the answer to a request of which nothing succeeded."""
    return Response(200, list(JSON), b'{"data":null,"errors":' + _errors(failures) + b"}")


def _errors(failures: Iterable[GraphQLFailure]) -> bytes:
    return msgspec.json.encode([_error(one) for one in failures])


def _error(failure: GraphQLFailure) -> dict[str, object]:
    error: dict[str, object] = {"message": failure.message}
    if failure.code is not None:
        error["extensions"] = {"code": failure.code}
    return error


async def _around(begin: bytes, long: LongValue, end: bytes) -> AsyncIterator[bytes]:
    """Give a long value with what stands before and behind it. Raises: as the value."""
    yield begin
    try:
        async for piece in long:
            yield piece
    finally:
        long.abandon()
    yield end
