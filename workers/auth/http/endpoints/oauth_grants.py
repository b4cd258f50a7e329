"""GET and DELETE /user/oauth/grants: what a user allowed clients. Source: reference page "auth", section 15."""

from uuid import UUID

from schemas.http import Response
from workers.auth import audit
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.federation.oauth_server import authorizations
from workers.auth.federation.oauth_server.clients import client_of_user
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.http.endpoints.present import present
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.times import iso


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List what the caller allowed, the newest first. Raises: AuthError."""
    refuse_unless_on(accounts)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        found = await authorizations.consents(transaction, caller.user.id)
    return answer(
        [
            {
                "client": client_of_user(each.client_id, each.client_name, each.client_uri, each.logo_uri),
                "scopes": each.scopes.split(),
                "granted_at": iso(each.granted_at),
            }
            for each in found
        ]
    )


async def revoke(accounts: Accounts, asked: Asked) -> Response:
    """Take back what the caller allowed a client; its sessions end. Raises: AuthError."""
    refuse_unless_on(accounts)
    text = asked.query("client_id")
    if not text:
        raise AuthError(Code.VALIDATION_FAILED, "client_id query parameter is required")
    try:
        id = UUID(text)
    except ValueError:
        raise AuthError(Code.VALIDATION_FAILED, "client_id must be a UUID") from None
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        if not await authorizations.revoke(transaction, caller.user.id, id):
            raise rejections.CONSENT_NOT_FOUND()
        traits = {"client_id": str(id), "reason": "consent_withdrawn"}
        await audit.record(accounts, transaction, asked, Action.TOKEN_REVOKED, caller.user, traits)
    return Response(204)
