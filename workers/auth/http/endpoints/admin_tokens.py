"""POST /admin/users/{id}/token: a short-lived access token of a user, for an administrator who acts as that user.

The token names no session and has no refresh token: nothing of the user's changes, and it ends by itself. The claim `act` marks it
(RFC 8693, section 4.1); with it the endpoints of a user only read (`http/caller.py`), so neither password nor factors can be
changed through it. The access-token hook runs as for any token. Source: docs/reference/auth.md, section 28.
"""

from uuid import uuid4

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.context import token_user
from workers.auth.delivery.hooks.runner import sign_customized
from workers.auth.http.caller import acting_admin, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.path_user import path_user
from workers.auth.model import rejections
from workers.auth.model.claims import TokenSession, access_claims, acting_claim
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response

_LONGEST_S = 3600
_MOST_ACTOR = 320


class UserTokenBody(msgspec.Struct):
    """For how many seconds, and who acts as the user: a text that the token and the audit log contain."""

    expires_in: int = 15 * 60
    actor: str = ""


async def create(context: EndpointContext, request: AuthRequest) -> Response:
    """Return an access token of a user. Raises: AuthError (400, 403 for a banned user, 404)."""
    await require_admin(context, request)
    body = request.read(UserTokenBody)
    if not 1 <= body.expires_in <= _LONGEST_S:
        raise AuthError(ErrorCode.VALIDATION_FAILED, f"expires_in must be 1 to {_LONGEST_S} seconds")
    if not 1 <= len(body.actor) <= _MOST_ACTOR or "\0" in body.actor:
        raise AuthError(ErrorCode.VALIDATION_FAILED, f"actor must have 1 to {_MOST_ACTOR} characters")
    async with context.transaction() as transaction:
        user = await path_user(transaction, request)
        if user.is_banned(context.now()):
            raise rejections.USER_BANNED()
        traits = {"provider": "administrator", "acting": body.actor, **audit.user_traits(user)}
        actor = acting_admin(request)
        await audit.record(context, transaction, request, AuditAction.LOGIN, actor, traits)
    issued_at = int(context.clock())
    expires_at = issued_at + body.expires_in
    claims = access_claims(
        token_user(user),
        TokenSession(str(uuid4()), ()),  # the hook expects an id; the token has none
        issued_at=issued_at,
        expires_at=expires_at,
        issuer=context.settings.jwt_issuer or context.settings.external_url,
    )
    customized = await context.hooks.custom_access_token(user.id, claims, "administrator", "")
    final = {name: value for name, value in customized.items() if name != "session_id"}
    token, _ = sign_customized({**final, "exp": expires_at, **acting_claim(body.actor)}, context.key)
    return json_response(
        {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": body.expires_in,
            "expires_at": expires_at,
        }
    )
