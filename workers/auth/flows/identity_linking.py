"""Adds an identity to an existing account: on its user's request, or by invitation. Runs in the caller's transaction.

Source: docs/reference/auth.md, sections 11.3, 12 and 4.6 (`link_identity`).
"""

from uuid import UUID

from workers.auth.accounts.users import account_changes, identities, proofs, users
from workers.auth.delivery.context import DeliveryContext
from workers.auth.federation.social import states
from workers.auth.federation.social.decision import identity_data, is_trusted, normalize_user
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.flows.external_sign_in import ExternalSignIn, confirmation, rules_of
from workers.auth.model import rejections
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction


async def link(
    context: DeliveryContext,
    transaction: Transaction,
    user_id: UUID,
    provider: str,
    provider_user: ProviderUser,
    *,
    target: str = "",
) -> ExternalSignIn:
    """Add an identity to a user on request; an anonymous user becomes permanent.

    A user without an address takes that of the identity. If it is not verified, an email asks to confirm it; then the result has
    a rejection although the identity is linked.
    Raises: AuthError (404 if linking is disabled; 403; 422): roll back.
    """
    if not context.settings.enable_manual_linking:
        raise rejections.LINKING_DISABLED()
    provider_user = normalize_user(provider_user)
    await identities.lock_names(
        transaction, provider, provider_user.subject, [email.address for email in provider_user.emails]
    )
    await users.lock(transaction, user_id)
    user = await account_changes.reload(transaction, user_id)
    await _reject_link(context, transaction, user, provider, provider_user)
    email = provider_user.primary
    data = identity_data(provider_user, email)
    await identities.add(transaction, user.id, provider, provider_user.subject, data)
    if not user.email and email is not None:
        if not is_trusted(email, rules_of(context)):
            await account_changes.set_email(transaction, user.id, email.address, None)
            user = await account_changes.describe(transaction, user.id, data)
            mail = await confirmation(context, transaction, user, target)
            return ExternalSignIn(
                user, mail=mail, rejection=rejections.LINKED_EMAIL_UNVERIFIED(provider=provider)
            )
        await account_changes.confirm(transaction, user.id, email.address, context.now())
        if not email.is_verified:
            await proofs.note_unproven(transaction, user.id, "email", email.address)
    elif user.email_confirmed_at and any(
        other.is_verified and other.address == user.email for other in provider_user.emails
    ):
        await proofs.note_proven(transaction, user.id, "email")  # by a user who is signed in to the account
    if user.is_anonymous:
        await account_changes.make_permanent(transaction, user.id)
    return ExternalSignIn(await account_changes.describe(transaction, user.id, data), linked=provider)


async def accept_invite(
    context: DeliveryContext,
    transaction: Transaction,
    invitation: str,
    provider: str,
    provider_user: ProviderUser,
) -> ExternalSignIn:
    """Sign in an invited user with an identity, and use the invitation (`states.find_invitation`) up.

    The invitation was sent by email, so the address is proven: everything that gave access to the account before is deleted.
    Raises: AuthError (400 if the provider does not report the invited address; 403; 404; 422): roll back.
    """
    provider_user = normalize_user(provider_user)
    emails = {email.address: email for email in provider_user.emails}
    await identities.lock_names(transaction, provider, provider_user.subject, list(emails))
    invited = await states.use_invitation(transaction, invitation)
    email = emails.get((invited.email or "").lower())
    if email is None:
        raise rejections.INVITE_MISMATCH()
    if invited.is_banned(context.now()):
        raise rejections.USER_BANNED()
    data = identity_data(provider_user, email)
    await identities.add(transaction, invited.id, provider, provider_user.subject, data)
    await account_changes.drop_all_else(transaction, invited.id, provider, provider_user.subject)
    await account_changes.confirm(transaction, invited.id, "", context.now())
    await proofs.note_proven(transaction, invited.id, "email")
    return ExternalSignIn(await account_changes.describe(transaction, invited.id, data))


async def _reject_link(
    context: DeliveryContext,
    transaction: Transaction,
    user: AuthUser,
    provider: str,
    provider_user: ProviderUser,
) -> None:
    """Raise if the identity cannot be added to the user. Raises: AuthError (403, 422)."""
    identity = await identities.find(transaction, provider, provider_user.subject)
    if identity is not None:
        raise (
            rejections.IDENTITY_ALREADY_LINKED()
            if identity.user_id == user.id
            else rejections.IDENTITY_TAKEN()
        )
    if user.deleted_at is not None:
        raise rejections.SUBJECT_GONE()
    if user.is_banned(context.now()):
        raise rejections.USER_BANNED()
    if user.is_sso_user:
        raise rejections.NOT_FOR_SINGLE_SIGN_ON()
