"""GET and DELETE /user/oauth/grants: the consents of a user. Source: docs/reference/auth.md, section 15."""

from uuid import UUID

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.federation.oauth_server import authorizations
from workers.auth.federation.oauth_server.clients import client_for_user
from workers.auth.http.caller import find_caller
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.oauth_access import refuse_unless_on
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.times import iso


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the caller's consents, the newest first. Raises: AuthError."""
    refuse_unless_on(context)
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        consents = await authorizations.consents(transaction, caller.user.id)
    return json_response(
        [
            {
                "client": client_for_user(
                    consent.client_id, consent.client_name, consent.client_uri, consent.logo_uri
                ),
                "scopes": consent.scopes.split(),
                "granted_at": iso(consent.granted_at),
            }
            for consent in consents
        ]
    )


async def revoke(context: EndpointContext, request: AuthRequest) -> Response:
    """Revoke the caller's consent for a client; the client's sessions end. Raises: AuthError."""
    refuse_unless_on(context)
    text = request.query("client_id")
    if not text:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "client_id query parameter is required")
    try:
        id = UUID(text)
    except ValueError:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "client_id must be a UUID") from None
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        if not await authorizations.revoke(transaction, caller.user.id, id):
            raise rejections.CONSENT_NOT_FOUND()
        traits = {"client_id": str(id), "reason": "consent_withdrawn"}
        await audit.record(context, transaction, request, AuditAction.TOKEN_REVOKED, caller.user, traits)
    return Response(204)
