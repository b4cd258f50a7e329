"""POST /oauth/clients/register: a client registers itself. Source: reference page "auth", section 15; RFC 7591, 3."""

from schemas.http import Response
from workers.auth.accounts.codes.limits import registration_limit, take
from workers.auth.context import Accounts
from workers.auth.federation.oauth_server import clients
from workers.auth.federation.oauth_server.registration import ClientBody, read_registration
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.request import Asked, answer


async def register(accounts: Accounts, asked: Asked) -> Response:
    """Make a client as it describes itself. Raises: AuthError (403, 404, 429); OAuthError (400)."""
    refuse_unless_on(accounts)
    own = accounts.settings
    if not own.oauth_server.allow_dynamic_registration:
        raise rejections.REGISTRATION_DISABLED()
    await take(accounts.database, registration_limit(own.rate_limit), asked.device.address)
    try:
        told = read_registration(asked.read(ClientBody))
    except AuthError as error:
        raise OAuthError("invalid_client_metadata", error.message) from None
    async with accounts.transaction() as transaction:
        made = await clients.register(transaction, told, is_dynamic=True)
    shown = clients.client_shown(made.client, made.secret)
    shown["client_id_issued_at"] = int(made.client.created_at.timestamp())
    if made.secret:
        shown["client_secret_expires_at"] = 0  # never
    return answer(shown, 201)
