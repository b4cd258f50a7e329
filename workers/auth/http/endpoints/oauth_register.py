"""POST /oauth/clients/register: a client registers itself. Source: docs/reference/auth.md, section 15; RFC 7591, 3."""

from schemas.http import Response
from workers.auth.federation.oauth_server import clients
from workers.auth.federation.oauth_server.registration import ClientBody, read_registration
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.rate_limits import count_request, registration_limit
from workers.auth.model.request import AuthRequest, json_response


async def register(context: EndpointContext, request: AuthRequest) -> Response:
    """Register a client with the data that it sends. Raises: AuthError (403, 404, 429); OAuthError (400)."""
    refuse_unless_on(context)
    settings = context.settings
    if not settings.oauth_server.allow_dynamic_registration:
        raise rejections.REGISTRATION_DISABLED()
    await count_request(context.database, registration_limit(settings.rate_limit), request.device.address)
    try:
        registration = read_registration(request.read(ClientBody))
    except AuthError as error:
        raise OAuthError("invalid_client_metadata", error.message) from None
    async with context.transaction() as transaction:
        new = await clients.register(transaction, registration, is_dynamic=True)
    members = clients.client_object(new.client, new.secret)
    members["client_id_issued_at"] = int(new.client.created_at.timestamp())
    if new.secret:
        members["client_secret_expires_at"] = 0  # never
    return json_response(members, 201)
