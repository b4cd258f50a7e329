"""What a code allows, once it was taken: an address is confirmed, a change of address ends. In the caller's transaction.

Source: reference page "auth", sections 5.8, 6.3 and 6.4.
"""

from dataclasses import dataclass

from workers.auth.accounts.codes.one_time import Kind, Token
from workers.auth.accounts.users import proofs, users
from workers.auth.accounts.users.address_changes import Half, needs_both
from workers.auth.accounts.users.shown import merged, with_providers
from workers.auth.context import Accounts
from workers.auth.federation.social import account
from workers.auth.model import rejections
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The user afterwards. `is_half`: the other address of a change has to confirm it too."""

    user: User
    is_half: bool = False


async def confirm(accounts: Accounts, transaction: Transaction, user: User, token: Token) -> Confirmed:
    """Do what a code allows. The user is locked, the code taken.

    Raises: AuthError (403) if the code was sent to an address that is not the user's any more; (422) if the new address
    of a change belongs to somebody else by now.
    """
    done = await _confirmed(accounts, transaction, user, token)
    return done if done.is_half else Confirmed(await _listed(transaction, done.user))


async def _confirmed(accounts: Accounts, transaction: Transaction, user: User, token: Token) -> Confirmed:
    match token.token_type:
        case Kind.CONFIRMATION | Kind.RECOVERY if token.is_of_phone:
            return Confirmed(await _phone(accounts, transaction, user, token))
        case Kind.CONFIRMATION | Kind.RECOVERY:
            return Confirmed(await _email(accounts, transaction, user, token))
        case Kind.PHONE_CHANGE:
            return Confirmed(await _new_phone(accounts, transaction, user, token))
        case Kind.EMAIL_CHANGE_CURRENT | Kind.EMAIL_CHANGE_NEW:
            return await _email_change(accounts, transaction, user, token)
    raise rejections.BAD_CODE()


async def _email(accounts: Accounts, transaction: Transaction, user: User, token: Token) -> User:
    if token.relates_to != (user.email or "").lower():
        raise rejections.BAD_CODE()
    await users.forget_codes(transaction, user.id)
    user = await _proven(transaction, user, token, "email")
    if user.email_confirmed_at is not None:
        return user
    await users.verify_identity(transaction, user.id, "email")
    return await users.change(
        transaction,
        user,
        users.Change(
            email_confirmed_at=accounts.now(),
            user_metadata=_verified(user, "email_verified"),
        ),
    )


async def _phone(accounts: Accounts, transaction: Transaction, user: User, token: Token) -> User:
    if token.relates_to != user.phone:
        raise rejections.BAD_CODE()
    await users.forget_codes(transaction, user.id)
    user = await _proven(transaction, user, token, "phone")
    is_new = user.phone_confirmed_at is None
    if not is_new and not user.is_anonymous:
        return user
    await users.verify_identity(transaction, user.id, "phone")
    return await users.change(
        transaction,
        user,
        users.Change(
            phone_confirmed_at=accounts.now() if is_new else None,
            user_metadata=_verified(user, "phone_verified"),
            is_anonymous=False,
        ),
    )


async def _proven(transaction: Transaction, user: User, token: Token, provider: str) -> User:
    """Note that an address is proven; the first proof leaves nobody in the account who came without one.

    The confirmation of a sign-up keeps its password: it was sent for that, and `/otp` takes the password away before it
    asks to confirm an account of somebody else's making.
    """
    is_first = await proofs.is_first_proof(transaction, user, provider)
    await proofs.note_proven(transaction, user.id, provider)
    was_confirmed = (user.email_confirmed_at if provider == "email" else user.phone_confirmed_at) is not None
    if not is_first or not (was_confirmed or token.token_type is Kind.RECOVERY):
        return user
    return await account.drop_all_but_address(transaction, user.id, provider)


async def _new_phone(accounts: Accounts, transaction: Transaction, user: User, token: Token) -> User:
    if token.relates_to != user.phone_change:
        raise rejections.BAD_CODE()
    return await users.change(
        transaction,
        user,
        users.Change(
            phone=user.phone_change,
            phone_change="",
            phone_confirmed_at=accounts.now(),
            user_metadata=_verified(user, "phone_verified"),
            app_metadata=with_providers(user.raw_app_meta_data, ["phone"]),
            is_anonymous=False,
        ),
    )


async def _email_change(accounts: Accounts, transaction: Transaction, user: User, token: Token) -> Confirmed:
    """Confirm one half of a change; with both of them, or where the new one is enough, the address changes."""
    is_new = token.token_type is Kind.EMAIL_CHANGE_NEW
    if (
        not user.email_change
        or token.relates_to != ((user.email_change if is_new else user.email) or "").lower()
    ):
        raise rejections.BAD_CODE()
    done = user.email_change_confirm_status
    has_new = is_new or done == Half.NEW
    has_current = not is_new or done == Half.CURRENT or not needs_both(accounts, user)
    if not (has_new and has_current):
        half = users.Change(email_change_status=Half.NEW if is_new else Half.CURRENT)
        return Confirmed(await users.change(transaction, user, half), is_half=True)
    changed = await users.change(
        transaction,
        user,
        users.Change(
            email=user.email_change,
            email_change="",
            email_change_status=Half.NONE,
            email_confirmed_at=accounts.now(),
            user_metadata=_verified(user, "email_verified"),
            app_metadata=with_providers(user.raw_app_meta_data, ["email"]),
            is_anonymous=False,
        ),
    )
    return Confirmed(changed)


async def _listed(transaction: Transaction, user: User) -> User:
    """List a user's ways in anew if the list lacks one, or names one that is gone: rows made by hand may have none."""
    metadata, found = user.raw_app_meta_data or {}, account.providers_of(user.identities)
    known, ways = metadata.get("providers"), {each.provider for each in user.identities}
    is_right = isinstance(known, list) and {str(each) for each in known} == ways
    if not found or (is_right and metadata.get("provider") in ways):
        return user
    return await users.change(transaction, user, users.Change(app_metadata={**metadata, **found}))


def _verified(user: User, name: str) -> Metadata:
    return merged(user.raw_user_meta_data, {name: True})
