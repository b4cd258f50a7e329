"""An identity that joins an account it is meant for: by its user's wish, or by invitation. In the caller's transaction.

Source: reference page "auth", sections 11.3, 12 and 4.6 (`link_identity`).
"""

from uuid import UUID

from workers.auth.accounts.users import identities, proofs, users
from workers.auth.accounts.users.linking import Entry, confirmation, rules_of
from workers.auth.context import Accounts
from workers.auth.federation.social import account, states
from workers.auth.federation.social.decision import identity_data, is_trusted, normal
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.model import rejections
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


async def link(
    accounts: Accounts,
    transaction: Transaction,
    user_id: UUID,
    provider: str,
    person: ProviderUser,
    *,
    target: str = "",
) -> Entry:
    """Add an identity to a user who wishes it; somebody anonymous becomes permanent.

    Who has no address of his own takes that of the identity; if it is not verified, a mail asks to confirm it, and the
    entry has a refusal although the identity is linked.
    Raises: AuthError (404 if linking is disabled; 403; 422): roll back.
    """
    if not accounts.settings.enable_manual_linking:
        raise rejections.LINKING_DISABLED()
    person = normal(person)
    await identities.alone(transaction, provider, person.subject, [each.address for each in person.emails])
    await users.lock(transaction, user_id)
    user = await account.again(transaction, user_id)
    await _refuse_link(accounts, transaction, user, provider, person)
    email = person.primary
    data = identity_data(person, email)
    await identities.add(transaction, user.id, provider, person.subject, data)
    if not user.email and email is not None:
        if not is_trusted(email, rules_of(accounts)):
            await account.set_email(transaction, user.id, email.address, None)
            user = await account.describe(transaction, user.id, data)
            mail = await confirmation(accounts, transaction, user, target)
            return Entry(user, mail=mail, refusal=rejections.LINKED_EMAIL_UNVERIFIED(provider=provider))
        await account.confirm(transaction, user.id, email.address, accounts.now())
        if not email.is_verified:
            await proofs.note_unproven(transaction, user.id, "email", email.address)
    elif user.email_confirmed_at and any(
        each.is_verified and each.address == user.email for each in person.emails
    ):
        await proofs.note_proven(transaction, user.id, "email")  # by somebody who was in the account already
    if user.is_anonymous:
        await account.make_permanent(transaction, user.id)
    return Entry(await account.describe(transaction, user.id, data), linked=provider)


async def accept_invite(
    accounts: Accounts, transaction: Transaction, invitation: str, provider: str, person: ProviderUser
) -> Entry:
    """Let an invited user in by an identity. The invitation (`states.find_invitation`) has come by mail, so the address
    is his; it is used up, and nobody who may have waited in the account stays.

    Raises: AuthError (400 if the provider does not know the invited address; 403; 404; 422): roll back.
    """
    person = normal(person)
    emails = {each.address: each for each in person.emails}
    await identities.alone(transaction, provider, person.subject, list(emails))
    invited = await states.take_invitation(transaction, invitation)
    email = emails.get((invited.email or "").lower())
    if email is None:
        raise rejections.INVITE_MISMATCH()
    if invited.is_banned(accounts.now()):
        raise rejections.USER_BANNED()
    data = identity_data(person, email)
    await identities.add(transaction, invited.id, provider, person.subject, data)
    await account.drop_all_else(transaction, invited.id, provider, person.subject)
    await account.confirm(transaction, invited.id, "", accounts.now())
    await proofs.note_proven(transaction, invited.id, "email")
    return Entry(await account.describe(transaction, invited.id, data))


async def _refuse_link(
    accounts: Accounts, transaction: Transaction, user: User, provider: str, person: ProviderUser
) -> None:
    known = await identities.find(transaction, provider, person.subject)
    if known is not None:
        raise rejections.IDENTITY_OWN() if known.user_id == user.id else rejections.IDENTITY_TAKEN()
    if user.deleted_at is not None:
        raise rejections.SUBJECT_GONE()
    if user.is_banned(accounts.now()):
        raise rejections.USER_BANNED()
    if user.is_sso_user:
        raise rejections.NOT_FOR_SINGLE_SIGN_ON()
