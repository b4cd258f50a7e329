"""Operations on requests of SQL (pg_net): those that wait, and what others were answered with."""

import base64
from typing import Any

import msgspec
from msgspec import Struct

from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.backends.typed_rows import needs_extension, read_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_limit
from workers.management.interface.rights import Right
from workers.management.operations.jobs import SQL, check_id

_NET = ("pg_net", "Requests")
_LONGEST_BODY, _BYTES_OF_CHARACTER = 10_000, 4

_SECRET_HEADERS = frozenset(
    {"authorization", "apikey", "cookie", "x-api-key", "set-cookie", "proxy-authorization"}
)


class RequestsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Requests after a number."""

    after: int = 0
    limit: PageLimit = 100


class QueuedSqlRequest(Struct, frozen=True):
    """A request of SQL that waits to be sent; credentials in its headers are replaced. The body is cut after 10,000 characters,
    and what is no UTF-8 in it is replaced."""

    id: int
    method: str
    url: str
    timeout_ms: int
    headers: dict[str, Any] | None = None
    body: str | None = None


class RequestPage(Struct, frozen=True):
    """Requests by number; `next` is `after` of the next page, null at the end."""

    rows: list[QueuedSqlRequest]
    next: int | None


class ResponsesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Responses before a number, all or only failures."""

    before: int | None = None
    only_failures: bool = False
    limit: PageLimit = 100


class RequestResponse(Struct, frozen=True):
    """What a request of SQL was answered with, or why it was not; credentials in its headers are replaced. The body is cut after
    10,000 characters."""

    id: int
    is_timeout: bool
    at: str
    status: int | None = None
    content_type: str | None = None
    headers: dict[str, Any] | None = None
    body: str | None = None
    error: str | None = None


class ResponsePage(Struct, frozen=True):
    """Responses, the newest first; `next` is `before` of the next page, null at the end."""

    rows: list[RequestResponse]
    next: int | None


async def list_requests(context: OperationContext, arguments: RequestsQuery) -> RequestPage:
    """Return a page of the requests of SQL that wait to be sent."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    with needs_extension(*_NET):
        rows = await read_rows(
            context,
            QueuedSqlRequest,
            SQL["waiting_requests"],
            check_id(arguments.after),
            limit,
            _LONGEST_BODY * _BYTES_OF_CHARACTER,
        )
    requests = [
        msgspec.structs.replace(row, headers=without_credentials(row.headers), body=_body_text(row.body))
        for row in rows
    ]
    return RequestPage(requests, rows[-1].id if len(rows) == limit else None)


async def list_responses(context: OperationContext, arguments: ResponsesQuery) -> ResponsePage:
    """Return a page of the responses to requests of SQL."""
    limit = check_limit(arguments.limit, context.settings.max_rows)
    with needs_extension(*_NET):
        rows = await read_rows(
            context,
            RequestResponse,
            SQL["responses"],
            check_id(arguments.before),
            limit,
            arguments.only_failures,
        )
    responses = [msgspec.structs.replace(row, headers=without_credentials(row.headers)) for row in rows]
    return ResponsePage(responses, rows[-1].id if len(rows) == limit else None)


def _body_text(encoded: str | None) -> str | None:
    """Return the beginning of a body, from its first bytes as base64; bytes that are no UTF-8 are replaced."""
    if encoded is None:
        return None
    return base64.b64decode(encoded).decode("utf-8", "replace")[:_LONGEST_BODY]


def without_credentials(headers: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return headers whose credentials are replaced."""
    if headers is None:
        return None
    return {
        name: "(not shown)" if name.lower() in _SECRET_HEADERS else value for name, value in headers.items()
    }


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader = Right.READER
    return [
        Operation("jobs.requests", "List requests of SQL that wait", RequestsQuery, RequestPage, reader, list_requests),
        Operation("jobs.responses", "List responses to requests of SQL", ResponsesQuery, ResponsePage, reader, list_responses),
    ]  # fmt: skip
