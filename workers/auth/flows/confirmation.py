"""Applies a valid code: confirms an address, or completes a change of address. Runs in the caller's transaction.

Source: docs/reference/auth.md, sections 5.8, 6.3 and 6.4.
"""

from dataclasses import dataclass

from workers.auth.accounts.codes.one_time import CodeKind, OneTimeToken
from workers.auth.accounts.users import account_changes, proofs, users
from workers.auth.delivery.context import DeliveryContext
from workers.auth.flows.address_changes import ConfirmedHalf, needs_both
from workers.auth.model import rejections
from workers.auth.model.rows import AuthUser, Metadata
from workers.auth.model.user_json import merged_metadata, with_providers
from workers.database.transactions.interactive import Transaction


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The user afterwards. `is_half`: the other address of a change must confirm it too."""

    user: AuthUser
    is_half: bool = False


async def confirm(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, token: OneTimeToken
) -> Confirmation:
    """Apply a code. The user is locked, the code used up.

    Raises: AuthError (403) if the code was sent to an address that is no longer the user's; (422) if the new address of a change
    belongs to another user by now.
    """
    done = await _confirmed(context, transaction, user, token)
    return done if done.is_half else Confirmation(await _with_provider_list(transaction, done.user))


async def _confirmed(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, token: OneTimeToken
) -> Confirmation:
    match token.token_type:
        case CodeKind.CONFIRMATION | CodeKind.RECOVERY if token.is_of_phone:
            return Confirmation(await _phone(context, transaction, user, token))
        case CodeKind.CONFIRMATION | CodeKind.RECOVERY:
            return Confirmation(await _email(context, transaction, user, token))
        case CodeKind.PHONE_CHANGE:
            return Confirmation(await _new_phone(context, transaction, user, token))
        case CodeKind.EMAIL_CHANGE_CURRENT | CodeKind.EMAIL_CHANGE_NEW:
            return await _email_change(context, transaction, user, token)
    raise rejections.BAD_CODE()


async def _email(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, token: OneTimeToken
) -> AuthUser:
    if token.relates_to != (user.email or "").lower():
        raise rejections.BAD_CODE()
    await users.forget_codes(transaction, user.id)
    user = await _proven(transaction, user, token, "email")
    is_new = user.email_confirmed_at is None
    if not is_new and not user.is_anonymous:
        return user
    await users.verify_identity(transaction, user.id, "email")
    return await users.change(
        transaction,
        user,
        users.UserChange(
            email_confirmed_at=context.now() if is_new else None,
            user_metadata=_verified(user, "email_verified"),
            is_anonymous=False,
        ),
    )


async def _phone(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, token: OneTimeToken
) -> AuthUser:
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
        users.UserChange(
            phone_confirmed_at=context.now() if is_new else None,
            user_metadata=_verified(user, "phone_verified"),
            is_anonymous=False,
        ),
    )


async def _proven(transaction: Transaction, user: AuthUser, token: OneTimeToken, provider: str) -> AuthUser:
    """Mark an address as proven; on the first proof, delete everything that gave access to the account before (`proofs.py`).

    The confirmation of a sign-up keeps its password: the code was sent for that sign-up, and `/otp` removes the password of an
    unconfirmed account before it sends a code.
    """
    is_first = await proofs.is_first_proof(transaction, user, provider)
    await proofs.note_proven(transaction, user.id, provider)
    was_confirmed = (user.email_confirmed_at if provider == "email" else user.phone_confirmed_at) is not None
    if not is_first or not (was_confirmed or token.token_type is CodeKind.RECOVERY):
        return user
    return await account_changes.drop_all_but_address(transaction, user.id, provider)


async def _new_phone(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, token: OneTimeToken
) -> AuthUser:
    if token.relates_to != user.phone_change:
        raise rejections.BAD_CODE()
    return await users.change(
        transaction,
        user,
        users.UserChange(
            phone=user.phone_change,
            phone_change="",
            phone_confirmed_at=context.now(),
            user_metadata=_verified(user, "phone_verified"),
            app_metadata=with_providers(user.raw_app_meta_data, ["phone"]),
            is_anonymous=False,
        ),
    )


async def _email_change(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, token: OneTimeToken
) -> Confirmation:
    """Confirm one half of a change; with both halves, or where the new one suffices, change the address."""
    is_new = token.token_type is CodeKind.EMAIL_CHANGE_NEW
    if (
        not user.email_change
        or token.relates_to != ((user.email_change if is_new else user.email) or "").lower()
    ):
        raise rejections.BAD_CODE()
    done = user.email_change_confirm_status
    has_new = is_new or done == ConfirmedHalf.NEW
    has_current = not is_new or done == ConfirmedHalf.CURRENT or not needs_both(context, user)
    if not (has_new and has_current):
        half = users.UserChange(email_change_status=ConfirmedHalf.NEW if is_new else ConfirmedHalf.CURRENT)
        return Confirmation(await users.change(transaction, user, half), is_half=True)
    changed = await users.change(
        transaction,
        user,
        users.UserChange(
            email=user.email_change,
            email_change="",
            email_change_status=ConfirmedHalf.NONE,
            email_confirmed_at=context.now(),
            user_metadata=_verified(user, "email_verified"),
            app_metadata=with_providers(user.raw_app_meta_data, ["email"]),
            is_anonymous=False,
        ),
    )
    return Confirmation(changed)


async def _with_provider_list(transaction: Transaction, user: AuthUser) -> AuthUser:
    """Update the user's list of providers if it is incomplete or names a removed one; rows that SQL inserted may lack the list."""
    metadata, current = user.raw_app_meta_data or {}, account_changes.providers_of(user.identities)
    listed, providers = metadata.get("providers"), {identity.provider for identity in user.identities}
    is_right = isinstance(listed, list) and {str(name) for name in listed} == providers
    if not current or (is_right and metadata.get("provider") in providers):
        return user
    return await users.change(transaction, user, users.UserChange(app_metadata={**metadata, **current}))


def _verified(user: AuthUser, name: str) -> Metadata:
    return merged_metadata(user.raw_user_meta_data, {name: True})
