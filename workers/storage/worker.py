"""The entry of the storage pool: authenticate, route to an endpoint, turn every error into the body that clients read.

Source: docs/reference/storage.md, sections 2 and 3.
"""

from broker.blobs.errors import BlobStoreDown
from broker.observability.observe import observe
from broker.requests.handler import RequestBody
from schemas.caller import RejectedCaller
from schemas.errors import ApiError
from schemas.http import Request, Response
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.routing import RouteMatch
from workers.storage.events.announce import changed_objects
from workers.storage.model.database_errors import storage_error_of
from workers.storage.model.errors import (
    StorageError,
    StorageErrorCode,
    UnknownArea,
    invalid_key,
    invalid_request,
    too_large,
    unknown_route,
)
from workers.storage.model.observations import database_refused
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import StorageIdentity, has_credential, identity_of
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.routes import AREAS, ROUTER, CallerRequirement, EndpointCall

MOST_BODY = 2 * 1024 * 1024
"""Maximum bytes of a body in the pool: the head of a form with its metadata. Bytes of objects are not sent here."""

_NO_CREDENTIAL = "headers must have required property 'authorization'"


class StorageWorker:
    """Handles requests of storage."""

    def __init__(self, context: StorageContext) -> None:
        self._context = context

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Handle one request. Every expected error becomes a response; only defects raise."""
        try:
            return await self._answer(request, body)
        except ApiError as error:
            return error.response()
        except (DatabaseError, Disconnected, PoolTimeout) as error:
            refusal = storage_error_of(error)
            if isinstance(error, DatabaseError) and refusal.inner >= 500:
                observe(database_refused(error, request.id))
            return refusal.response()
        except BlobStoreDown:
            return _blob_store_error().response()

    async def _answer(self, request: Request, body: RequestBody) -> Response:
        match = ROUTER.find(request.method, request.path)
        if not isinstance(match, RouteMatch):
            raise _route_error(request)
        call = match.endpoint
        identity = _identity(request, call)
        data = await _read(body)
        storage_request = StorageRequest(request, match.parameters, call.operation, identity, data)
        response: Response | None = None
        try:
            response = await call.endpoint(self._context, storage_request)
            return response
        finally:
            change = changed_objects(call.operation, match.parameters, request, response)
            if change is not None:
                self._context.announce(change)


def _identity(request: Request, call: EndpointCall) -> StorageIdentity | None:
    """Return the identity that an endpoint requires. An API key alone does not identify a user. Raises: StorageError."""
    match call.caller:
        case CallerRequirement.NONE:
            return None
        case CallerRequirement.OPTIONAL:
            is_known = has_credential(request.headers) and not isinstance(request.caller, RejectedCaller)
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


def _route_error(request: Request) -> StorageError:
    method, path = request.method, request.path
    if path[1:].partition("/")[0] not in AREAS:
        return UnknownArea(method, path)
    # The path may fit a route except for its encoding: a NUL, or an escape that is invalid or not UTF-8.
    plain = path.replace("%", "_").replace("\0", "_")
    is_misspelt = plain != path and isinstance(ROUTER.find(method, plain), RouteMatch)
    return invalid_key(path) if is_misspelt else unknown_route(method, path)


def _blob_store_error() -> StorageError:
    """The blob store cannot be reached. The HTTP status says so, because a retry may succeed."""
    headers = [("retry-after", "1")]
    return StorageError(
        StorageErrorCode.SLOW_DOWN, "The blob store does not answer", 503, status=503, headers=headers
    )
