"""Resumable uploads (TUS 1.0.0): route each request to its step. Errors are plain text with their real HTTP status.

The gateway answers `OPTIONS` itself (services/gateway/objects/resumable/uploads.py), because it needs no authentication.
Source: docs/reference/storage.md, section 9.
"""

from collections.abc import Awaitable, Callable

import msgspec

from broker.blobs.errors import BlobStoreDown
from broker.observability.observe import observe
from schemas.http import Headers, Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.storage.model.database_errors import storage_error_of
from workers.storage.model.errors import StorageError
from workers.storage.model.observations import database_refused
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.tus import append, creation, status
from workers.storage.tus.errors import TusError
from workers.storage.tus.headers import RESPONSE_HEADERS, check_protocol_version

_TEXT = ("content-type", "text/plain; charset=utf-8")
_Step = Callable[[StorageContext, StorageRequest], Awaitable[Response]]


async def create(context: StorageContext, request: StorageRequest) -> Response:
    """`POST upload/resumable`."""
    return await _answer(context, request, _create)


async def write(context: StorageContext, request: StorageRequest) -> Response:
    """`PATCH upload/resumable/{id}`."""
    return await _answer(context, request, _write)


async def show(context: StorageContext, request: StorageRequest) -> Response:
    """`HEAD upload/resumable/{id}`."""
    return await _answer(context, request, status.show)


async def terminate(context: StorageContext, request: StorageRequest) -> Response:
    """`DELETE upload/resumable/{id}`."""
    return await _answer(context, request, status.terminate)


async def _create(context: StorageContext, request: StorageRequest) -> Response:
    stored = request.http.stored
    if stored is None:
        return await creation.create(context, request)
    if stored.is_under_way:
        return await append.renew(context, stored)
    return creation.creation_response(request, *await append.record_stored(context, request, stored))


async def _write(context: StorageContext, request: StorageRequest) -> Response:
    stored = request.http.stored
    if stored is None:
        return await append.start_append(context, request)
    if stored.is_under_way:
        return await append.renew(context, stored)
    return append.append_response(*await append.record_stored(context, request, stored))


async def _answer(context: StorageContext, request: StorageRequest, step: _Step) -> Response:
    try:
        check_protocol_version(request)
        response = await step(context, request)
    except TusError as error:
        return _refusal(error.status, error.message, error.headers)
    except StorageError as error:
        return _refusal(error.inner, error.message, error.headers())
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        refused = storage_error_of(error)
        if isinstance(error, DatabaseError) and refused.inner >= 500:
            observe(database_refused(error, request.http.id))
        return _refusal(_http_status(refused), refused.message, refused.headers())
    except BlobStoreDown:
        return _refusal(503, "The blob store does not answer", [("retry-after", "1")])
    return msgspec.structs.replace(response, headers=[*response.headers, *RESPONSE_HEADERS])


def _http_status(refused: StorageError) -> int:
    """Return the HTTP status of a database error. One that may pass by itself keeps a status that clients retry."""
    return refused.status if refused.status == 503 else refused.inner


def _refusal(status: int, message: str, headers: Headers) -> Response:
    return Response(status, [_TEXT, *headers, *RESPONSE_HEADERS], message.encode(errors="replace"))
