"""Identities in their user's hands: one more, one less. Source: reference page "auth", section 12."""

from uuid import UUID

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.users import identities, users
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import landing
from workers.auth.federation.social import account, notices
from workers.auth.federation.social.decision import is_single_sign_on
from workers.auth.http.endpoints.authorize import linking_address
from workers.auth.http.endpoints.present import present
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Identity, Metadata, User
from workers.database.interactive import Transaction


async def authorize(accounts: Accounts, asked: Asked) -> Response:
    """Send the caller to a provider whose identity he wishes to have, or tell the address. Raises: AuthError."""
    _refuse_unless_enabled(accounts)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
    if caller.user.is_sso_user:
        raise rejections.NOT_FOR_SINGLE_SIGN_ON()
    address = await linking_address(accounts, asked, caller.user.id)
    if asked.query("skip_http_redirect").lower() in ("true", "1", "t"):
        return answer({"url": address})
    return landing.redirect(address, 302)


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Take an identity from the caller. Raises: AuthError."""
    _refuse_unless_enabled(accounts)
    try:
        id = UUID(asked.parameters["identity_id"])
    except ValueError:
        raise rejections.IDENTITY_ID() from None
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        if asked.audience(caller.user.aud or "") != (caller.user.aud or ""):
            raise rejections.OTHER_AUDIENCE()
        await users.lock(transaction, caller.user.id)
        user = await account.again(transaction, caller.user.id)
        identity = _removable(user, id)
        await identities.remove(transaction, identity)
        await _without(accounts, transaction, user, identity)
        traits = {"identity_id": str(identity.id), "provider": identity.provider}
        await audit.record(accounts, transaction, asked, Action.IDENTITY_UNLINKED, user, traits)
    await notices.tell_unlinked(accounts, user, identity.provider)
    return answer({})


def _refuse_unless_enabled(accounts: Accounts) -> None:
    if not accounts.settings.enable_manual_linking:
        raise rejections.LINKING_DISABLED()


def _removable(user: User, id: UUID) -> Identity:
    """Find the identity of a user that may go: not his last, and not one that his company manages."""
    found = [each for each in user.identities if each.id == id]
    if not found:
        raise rejections.IDENTITY_NOT_FOUND()
    if len(user.identities) < 2:
        raise rejections.LAST_IDENTITY()
    if is_single_sign_on(found[0].provider):
        raise rejections.NOT_FOR_SINGLE_SIGN_ON()
    return found[0]


async def _without(accounts: Accounts, transaction: Transaction, user: User, gone: Identity) -> None:
    """Bring a user's addresses and list of providers in line with the identities that are left."""
    left = [each for each in user.identities if each.id != gone.id]
    told: Metadata = {}
    if gone.provider == "phone":
        await account.forget_phone(transaction, user.id)
    elif _is_supplier(user, gone, left):
        heir = _heir(left)
        email = "" if heir is None else (heir.email or "")
        is_verified = heir is not None and _is_verified(heir)
        confirmed_at = accounts.now() if is_verified else None
        try:
            await account.set_email(transaction, user.id, email, confirmed_at)
        except AuthError as error:
            raise rejections.EMAIL_CONFLICT() if error.code is Code.EMAIL_EXISTS else error from None
        told = {"email": None, "email_verified": None}
    await account.describe(transaction, user.id, told)


def _is_supplier(user: User, gone: Identity, left: list[Identity]) -> bool:
    """Tell whether a user has his address of an identity, and of no other."""
    own = (user.email or "").lower()
    return bool(own) and gone.email == own and all(each.email != own for each in left)


def _heir(left: list[Identity]) -> Identity | None:
    """Give the identity whose address becomes the user's: a verified one first, then the oldest."""
    ranked = sorted((each for each in left if each.email), key=lambda each: not _is_verified(each))
    return ranked[0] if ranked else None


def _is_verified(identity: Identity) -> bool:
    return identity.identity_data.get("email_verified") is True
