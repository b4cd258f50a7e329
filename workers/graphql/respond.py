"""Step five: build the answer of an executed operation. The JSON that Postgres returned is copied unchanged. Pure.

Source: docs/reference/graphql.md, section 2.
"""

import dataclasses
from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec

from broker.requests.handler import StreamedResponse
from schemas.http import Headers, Response
from schemas.positions import TRANSACTION_ID
from workers.database.protocol.long_value import LongValue
from workers.graphql.errors import GraphQLFailure
from workers.graphql.execute import OperationOutcome
from workers.graphql.media_types import GRAPHQL_RESPONSE, JSON

_HEADERS: Headers = [("content-type", JSON)]
_GRAPHQL_HEADERS: Headers = [("content-type", GRAPHQL_RESPONSE), ("vary", "Accept")]


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
        headers = list(_HEADERS)
        if outcome.transaction_id is not None:
            headers.append((TRANSACTION_ID, outcome.transaction_id.decode()))
        return Response(200, headers, b"".join(head))
    return _streamed(b"".join(head), long, b"".join(tail))


def data_response(head: bytes, value: bytes | LongValue | None) -> Response | StreamedResponse:
    """Return the answer with the value of the only root field; `head` is the JSON text before the value."""
    if isinstance(value, LongValue):
        return _streamed(head, value, b"}}")
    return Response(200, list(_HEADERS), b"%b%b}}" % (head, b"null" if value is None else value))


def _streamed(prefix: bytes, long: LongValue, suffix: bytes) -> StreamedResponse:
    size = len(prefix) + long.size + len(suffix)
    return StreamedResponse(200, list(_HEADERS), _surrounded(prefix, long, suffix), size=size)


def failure_response(failures: Iterable[GraphQLFailure]) -> Response:
    """Return the answer to a request that failed completely."""
    return Response(200, list(_HEADERS), b'{"data":null,"errors":' + _errors(failures) + b"}")


def refusal_response(failures: Sequence[GraphQLFailure]) -> Response:
    """Return the answer in `application/graphql-response+json` to a request that was refused before anything ran."""
    body = b'{"errors":' + _errors(failures) + b"}"
    return Response(failures[0].refusal_status, list(_GRAPHQL_HEADERS), body)


def as_graphql_response(response: Response | StreamedResponse) -> Response | StreamedResponse:
    """Return an answer as `application/graphql-response+json`; leave an answer that is not JSON unchanged."""
    if response.headers[:1] != _HEADERS:
        return response
    headers = [*_GRAPHQL_HEADERS, *response.headers[1:]]
    if isinstance(response, Response):
        return msgspec.structs.replace(response, headers=headers)
    return dataclasses.replace(response, headers=headers)


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
