"""The storage pool: a request to its endpoint, every refusal in the shape that clients read.

Source: reference page "storage", sections 2 and 3.
"""

from broker.blobs.errors import BlobStoreDown
from broker.observability.observe import observe
from broker.requests.serve import RequestBody
from schemas.caller import Rejected
from schemas.errors import ApiError
from schemas.http import Request, Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.routing import Found
from workers.storage.asked import Asked
from workers.storage.callers import Identity, has_credential, identity_of
from workers.storage.context import Store
from workers.storage.database_errors import refusal_of
from workers.storage.errors import (
    Code,
    StorageError,
    UnknownArea,
    invalid_key,
    invalid_request,
    too_large,
    unknown_route,
)
from workers.storage.observations import database_refused
from workers.storage.routes import AREAS, ROUTER, Call, Known

MOST_BODY = 2 * 1024 * 1024
"""Bytes of the longest body that comes here: the head of a form with its metadata. Bytes of objects do not."""

_NO_CREDENTIAL = "headers must have required property 'authorization'"


class StorageWorker:
    """Answers requests of storage."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one request. Every refusal is an answer; only defects raise."""
        try:
            return await self._answer(request, body)
        except ApiError as error:
            return error.response()
        except (DatabaseError, Disconnected, PoolTimeout) as error:
            refusal = refusal_of(error)
            if isinstance(error, DatabaseError) and refusal.inner >= 500:
                observe(database_refused(error, request.id))
            return refusal.response()
        except BlobStoreDown:
            return _store_down().response()

    async def _answer(self, request: Request, body: RequestBody) -> Response:
        found = ROUTER.find(request.method, request.path)
        if not isinstance(found, Found):
            raise _nowhere(request)
        call = found.endpoint
        identity = _identity(request, call)
        data = await _read(body)
        asked = Asked(request, found.parameters, call.operation, identity, data)
        return await call.endpoint(self._store, asked)


def _identity(request: Request, call: Call) -> Identity | None:
    """Give who asks, where that counts. An API key alone is nobody's word. Raises: StorageError."""
    match call.known:
        case Known.NEVER:
            return None
        case Known.OPTIONAL:
            is_known = has_credential(request.headers) and not isinstance(request.caller, Rejected)
            return identity_of(request.caller, request.headers) if is_known else None
    if not has_credential(request.headers):
        raise invalid_request(_NO_CREDENTIAL)
    return identity_of(request.caller, request.headers)


async def _read(body: RequestBody) -> bytes:
    try:
        return await body.read(MOST_BODY)
    except ApiError as error:
        if error.status != 413:
            raise
        raise too_large("The body is too long") from None


def _nowhere(request: Request) -> StorageError:
    method, path = request.method, request.path
    if path[1:].partition("/")[0] not in AREAS:
        return UnknownArea(method, path)
    # Only its spelling may have kept a path from its route: a NUL, or an escape that is none or no UTF-8.
    plain = path.replace("%", "_").replace("\0", "_")
    is_misspelt = plain != path and isinstance(ROUTER.find(method, plain), Found)
    return invalid_key(path) if is_misspelt else unknown_route(method, path)


def _store_down() -> StorageError:
    """The bytes cannot be reached; HTTP says so, for a later attempt may succeed."""
    headers = [("retry-after", "1")]
    return StorageError(Code.SLOW_DOWN, "The blob store does not answer", 503, status=503, headers=headers)
