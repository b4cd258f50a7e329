"""Administration of the OAuth server's clients. Source: docs/reference/auth.md, sections 15 and 16.8."""

from uuid import UUID

from schemas.http import Response
from workers.auth.federation.oauth_server import clients
from workers.auth.federation.oauth_server.clients import OAuthClient, client_object
from workers.auth.federation.oauth_server.registration import ClientBody, Registration, read_registration
from workers.auth.http.caller import require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.pages import page_headers, read_page
from workers.auth.model.request import AuthRequest, json_response
from workers.database.transactions.interactive import Transaction


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a page of clients, the newest first. Raises: AuthError."""
    await _require_admin(context, request)
    page = read_page(request)
    async with context.transaction() as transaction:
        rows, total = await clients.page(transaction, limit=page.size, offset=page.offset)
    members = {"clients": [client_object(client) for client in rows]}
    return json_response(members, 200, *page_headers(request.http.path, page, total, {}))


async def create(context: EndpointContext, request: AuthRequest) -> Response:
    """Create a client. Only this response has its secret. Raises: AuthError."""
    await _require_admin(context, request)
    registration = _read_registration(request)
    async with context.transaction() as transaction:
        new = await clients.register(transaction, registration, is_dynamic=False)
    return json_response(client_object(new.client, new.secret), 201)


async def show(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a client. Raises: AuthError."""
    await _require_admin(context, request)
    async with context.transaction() as transaction:
        client = await clients.find(transaction, _id(request))
    if client is None:
        raise rejections.CLIENT_NOT_FOUND()
    return json_response(client_object(client))


async def update(context: EndpointContext, request: AuthRequest) -> Response:
    """Change the members of a client that the body has. Raises: AuthError."""
    await _require_admin(context, request)
    async with context.transaction() as transaction:
        client = await _locked(transaction, request)
        changed = await clients.change(
            transaction, client.id, _read_registration(request, client.registration)
        )
    return json_response(client_object(changed))


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete a client; its sessions end. Raises: AuthError."""
    await _require_admin(context, request)
    async with context.transaction() as transaction:
        if not await clients.delete(transaction, _id(request)):
            raise rejections.CLIENT_NOT_FOUND()
    return Response(204)


async def regenerate_secret(context: EndpointContext, request: AuthRequest) -> Response:
    """Replace the secret of a confidential client. Raises: AuthError."""
    await _require_admin(context, request)
    async with context.transaction() as transaction:
        client = await _locked(transaction, request)
        if client.registration.is_public:
            raise AuthError(ErrorCode.VALIDATION_FAILED, "A public client has no secret")
        renewed = await clients.renew_secret(transaction, client.id)
    return json_response(client_object(renewed.client, renewed.secret))


async def _require_admin(context: EndpointContext, request: AuthRequest) -> None:
    refuse_unless_on(context)
    await require_admin(context, request)


def _read_registration(request: AuthRequest, old: Registration | None = None) -> Registration:
    try:
        return read_registration(request.read(ClientBody), old, is_own=True)
    except OAuthError as error:
        raise AuthError(ErrorCode.VALIDATION_FAILED, error.description) from None


async def _locked(transaction: Transaction, request: AuthRequest) -> OAuthClient:
    client = await clients.lock(transaction, _id(request))
    if client is None:
        raise rejections.CLIENT_NOT_FOUND()
    return client


def _id(request: AuthRequest) -> UUID:
    try:
        return UUID(request.parameters["id"])
    except ValueError:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "client_id must be an UUID", 404) from None
