"""Identities of the caller: link and unlink; of any user, for administrators: unlink. Source: docs/reference/auth.md, section 12."""

from uuid import UUID

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.users import account_changes, identities, users
from workers.auth.delivery import user_notices
from workers.auth.federation.social.decision import is_single_sign_on
from workers.auth.http import landing
from workers.auth.http.caller import acting_admin, find_caller, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.authorize import linking_address
from workers.auth.http.path_user import lock_path_user
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Metadata, UserIdentity
from workers.database.transactions.interactive import Transaction


async def authorize(context: EndpointContext, request: AuthRequest) -> Response:
    """Redirect the caller to a provider to link an identity, or return the URL. Raises: AuthError."""
    _refuse_unless_enabled(context)
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
    if caller.user.is_sso_user:
        raise rejections.NOT_FOR_SINGLE_SIGN_ON()
    address = await linking_address(context, request, caller.user.id)
    if request.query("skip_http_redirect").lower() in ("true", "1", "t"):
        return json_response({"url": address})
    return landing.redirect(address, 302)


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Unlink an identity of the caller. Raises: AuthError."""
    _refuse_unless_enabled(context)
    id = _identity_id(request)
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        if request.audience(caller.user.aud or "") != (caller.user.aud or ""):
            raise rejections.OTHER_AUDIENCE()
        await users.lock(transaction, caller.user.id)
        user, identity = await _remove(context, transaction, caller.user.id, id)
        traits = {"identity_id": str(identity.id), "provider": identity.provider}
        await audit.record(context, transaction, request, AuditAction.IDENTITY_UNLINKED, user, traits)
    await user_notices.send_identity_unlinked(context, user, identity.provider)
    return json_response({})


async def delete_for_admin(context: EndpointContext, request: AuthRequest) -> Response:
    """Unlink an identity of any user, not the last one. Raises: AuthError (404, 422)."""
    await require_admin(context, request)
    id = _identity_id(request)
    async with context.transaction() as transaction:
        user = await lock_path_user(transaction, request)
        user, identity = await _remove(context, transaction, user.id, id)
        traits = {
            "identity_id": str(identity.id),
            "provider": identity.provider,
            **audit.user_traits(user),
        }
        await audit.record(
            context, transaction, request, AuditAction.IDENTITY_UNLINKED, acting_admin(request), traits
        )
    await user_notices.send_identity_unlinked(context, user, identity.provider)
    return json_response({})


async def _remove(
    context: EndpointContext, transaction: Transaction, user_id: UUID, id: UUID
) -> tuple[AuthUser, UserIdentity]:
    """Remove an identity of a locked user; return the user as of before, and the identity. Raises: AuthError (422)."""
    user = await account_changes.reload(transaction, user_id)
    identity = _removable(user, id)
    await identities.remove(transaction, identity)
    await _without(context, transaction, user, identity)
    return user, identity


def _identity_id(request: AuthRequest) -> UUID:
    try:
        return UUID(request.parameters["identity_id"])
    except ValueError:
        raise rejections.IDENTITY_ID() from None


def _refuse_unless_enabled(context: EndpointContext) -> None:
    if not context.settings.enable_manual_linking:
        raise rejections.LINKING_DISABLED()


def _removable(user: AuthUser, id: UUID) -> UserIdentity:
    """Find the identity that may be removed: not the user's last one, and not one of single sign-on."""
    matching = [identity for identity in user.identities if identity.id == id]
    if not matching:
        raise rejections.IDENTITY_NOT_FOUND()
    if len(user.identities) < 2:
        raise rejections.LAST_IDENTITY()
    if is_single_sign_on(matching[0].provider):
        raise rejections.NOT_FOR_SINGLE_SIGN_ON()
    return matching[0]


async def _without(
    context: EndpointContext, transaction: Transaction, user: AuthUser, gone: UserIdentity
) -> None:
    """Update a user's addresses and list of providers after an identity was removed."""
    left = [identity for identity in user.identities if identity.id != gone.id]
    claims: Metadata = {}
    if gone.provider == "phone":
        await account_changes.forget_phone(transaction, user.id)
    elif _is_supplier(user, gone, left):
        successor = _successor(left)
        email = "" if successor is None else (successor.email or "")
        is_verified = successor is not None and _is_verified(successor)
        confirmed_at = context.now() if is_verified else None
        try:
            await account_changes.set_email(transaction, user.id, email, confirmed_at)
        except AuthError as error:
            raise rejections.EMAIL_CONFLICT() if error.code is ErrorCode.EMAIL_EXISTS else error from None
        claims = {"email": None, "email_verified": None}
    await account_changes.describe(transaction, user.id, claims)


def _is_supplier(user: AuthUser, gone: UserIdentity, left: list[UserIdentity]) -> bool:
    """Return whether the user's address comes from this identity, and from no other."""
    email = (user.email or "").lower()
    return bool(email) and gone.email == email and all(identity.email != email for identity in left)


def _successor(left: list[UserIdentity]) -> UserIdentity | None:
    """Return the identity whose address becomes the user's: a verified one first, then the oldest."""
    ranked = sorted(
        (identity for identity in left if identity.email), key=lambda identity: not _is_verified(identity)
    )
    return ranked[0] if ranked else None


def _is_verified(identity: UserIdentity) -> bool:
    return identity.identity_data.get("email_verified") is True
