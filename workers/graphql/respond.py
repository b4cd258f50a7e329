"""Step five: build the answer of an executed operation. The JSON that Postgres returned is copied unchanged. Pure.

Source: docs/reference/graphql.md, section 2.
"""

from collections.abc import AsyncIterator, Iterable

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Headers, Response
from workers.database.protocol.long_value import LongValue
from workers.graphql.errors import GraphQLFailure
from workers.graphql.execute import OperationOutcome

JSON: Headers = [("content-type", "application/json; charset=utf-8")]


def respond(outcome: OperationOutcome, *, is_mutation: bool) -> Response | StreamedResponse:
    """Return the answer: values in the order of the document, then the failures. A long value is streamed."""
    failures = [outcome.failures[index] for index in sorted(outcome.failures)]
    if failures and (is_mutation or not outcome.values):
        outcome.abandon()
        return failure_response(failures[:1] if is_mutation else failures)
    tail: list[bytes] = []
    head = [b'{"data":{']
    long: LongValue | None = None
    is_first = True
    for index in sorted(outcome.values):
        out = head if long is None else tail
        out.append(outcome.fields[index].key if is_first else b"," + outcome.fields[index].key)
        is_first = False
        value = outcome.values[index]
        if isinstance(value, LongValue):
            long = value
        else:
            out.append(value)
    out = head if long is None else tail
    out.append(b'},"errors":' + _errors(failures) + b"}" if failures else b"}}")
    if long is None:
        return Response(200, list(JSON), b"".join(head))
    prefix, suffix = b"".join(head), b"".join(tail)
    return StreamedResponse(
        200, list(JSON), _surrounded(prefix, long, suffix), size=len(prefix) + long.size + len(suffix)
    )


def failure_response(failures: Iterable[GraphQLFailure]) -> Response:
    """Return the answer to a request that failed completely."""
    return Response(200, list(JSON), b'{"data":null,"errors":' + _errors(failures) + b"}")


def _errors(failures: Iterable[GraphQLFailure]) -> bytes:
    return msgspec.json.encode([_error(failure) for failure in failures])


def _error(failure: GraphQLFailure) -> dict[str, object]:
    error: dict[str, object] = {"message": failure.message}
    if failure.code is not None:
        error["extensions"] = {"code": failure.code}
    return error


async def _surrounded(prefix: bytes, long: LongValue, suffix: bytes) -> AsyncIterator[bytes]:
    """Yield a long value in pieces, between the JSON text before and after it. Raises: as the value."""
    yield prefix
    try:
        async for piece in long:
            yield piece
    finally:
        long.abandon()
    yield suffix
