"""Sign-in with a provider: finds or creates the account of an external identity. For OAuth, ID tokens, SAML and wallets.

    ask_hook                calls the hook of new users, if a user will be created     not within a transaction
    sign_in                 finds or creates the user, and decides about the sign-in   within the caller's transaction
    ExternalSignIn.confirm  sends the email that asks to confirm the address           the last step of the transaction
    ExternalSignIn.tell     sends notices after the commit, raises the rejection       not within a transaction

How to use them:

    new_id = await ask_hook(context, "github", provider_user, client=request.device.address)
    async with context.sending(external_sign_in.EMAIL) as transaction:
        entry = await sign_in(context, transaction, "github", provider_user, new_id=new_id)
        if entry.rejection is None:
            grant = await context.start_session(transaction, entry.user, SignInMethod.OAUTH, request.device)
        await entry.confirm(context, transaction)              # rolls back if the email cannot be sent
    await entry.tell(context, request.device.address)          # raises the rejection; the account stays
    body = await context.session_json(entry.user, grant)

`federation/social/decision.py` has the rules by which an account is found, `identity_linking.py` the two other ways in which
an identity joins one: on its user's request, and by invitation. An account must be confirmed for a session: by an address
that the provider has verified (or by any, where confirmations are disabled), or earlier. The first proof of an account's
address (`accounts/users/proofs.py`) takes the account over: its password, other identities, sessions and factors are deleted,
and also the metadata of an account that was never confirmed. An address that is confirmed without a proof stays unproven.
Source: docs/reference/auth.md, sections 11.3, 11.4 and 17.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.users import account_changes, identities, proofs, users
from workers.auth.accounts.users.account_changes import NewExternalUser
from workers.auth.accounts.users.identities import AddressHolder
from workers.auth.delivery import user_notices
from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.email.emails import OutgoingEmail
from workers.auth.delivery.hooks.points import HookPoint
from workers.auth.federation.social.decision import (
    AccountDecision,
    CreateDecision,
    LinkDecision,
    LinkingRules,
    SignInDecision,
    decide,
    identity_data,
    is_single_sign_on,
    normalize_user,
    trusted_addresses,
)
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser, Metadata
from workers.database.transactions.interactive import Transaction

EMAIL = "@"
"""For `DeliveryContext.sending`: a sign-in may send an email; its address is not known before."""


@dataclass(frozen=True, slots=True)
class ExternalSignIn:
    """The result of a sign-in. With a `rejection` no session starts, but the account must be committed."""

    user: AuthUser
    is_new: bool = False
    mail: OutgoingEmail | None = None
    """The email that asks to confirm the account's address."""
    rejection: AuthError | None = None
    linked: str = ""
    """The provider of an identity that was added to an existing account just now."""

    async def confirm(self, context: DeliveryContext, transaction: Transaction) -> None:
        """Send the email without which the account cannot be used, as the last step of the transaction.

        Raises: AuthError if it cannot be sent; then the account must be rolled back.
        """
        if self.mail is not None and self.rejection is not None:
            await context.outbox.send(self.mail, transaction)

    async def tell(self, context: DeliveryContext, client: str = "") -> None:
        """Send the notices, call the after-user-created hook, and raise the rejection. Not within a transaction.

        Raises: AuthError.
        """
        if self.is_new:
            await context.hooks.after_user_created(self.user, client)
        if self.linked and self.rejection is None:
            await user_notices.send_identity_linked(context, self.user, self.linked)
        if self.mail is not None and self.rejection is None:
            with suppress(AuthError):  # the sign-in succeeds without the email; the log has the reason
                await context.outbox.send(self.mail)
        if self.rejection is not None:
            raise self.rejection


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An external identity that signs in: what its provider reported, and what was found about it here."""

    provider: str
    provider_user: ProviderUser
    data: Metadata
    trusted: tuple[str, ...]
    """The user's addresses that count as proven, the best first."""
    holders: Sequence[AddressHolder]
    decision: AccountDecision


async def ask_hook(
    context: DeliveryContext, provider: str, provider_user: ProviderUser, *, aud: str = "", client: str = ""
) -> UUID:
    """Call the before-user-created hook if a user will be created; return the id that the user will have.

    Raises: AuthError as `sign_in`, and what the hook returns.
    """
    id = uuid4()
    if context.hooks.has(HookPoint.BEFORE_USER_CREATED):
        async with context.transaction() as transaction:
            candidate = await _looked_up(context, transaction, provider, provider_user, aud)
        if isinstance(candidate.decision, CreateDecision):
            new = _new_user(context, candidate, candidate.decision, aud, id)
            await context.hooks.before_user_created(new.as_user(provider, candidate.data), client)
    return id


async def sign_in(
    context: DeliveryContext,
    transaction: Transaction,
    provider: str,
    provider_user: ProviderUser,
    *,
    is_email_optional: bool = False,
    aud: str = "",
    new_id: UUID | None = None,
    target: str = "",
) -> ExternalSignIn:
    """Find or create the user of an external identity, and store the provider's claims.

    `provider` is the name in identities: `github`, `custom:acme`, `sso:<id>`, `web3`. Addresses of single sign-on count as
    verified: pass them so. `aud` is the audience of new users, `new_id` their id (`ask_hook`), `target` the checked URL that a
    confirmation link leads to.
    Raises: AuthError (banned; sign-ups disabled; no address; several accounts have it): roll back.
    """
    if not normalize_user(provider_user).emails and not is_email_optional:
        raise rejections.NO_PROVIDER_EMAIL()
    candidate = await _looked_up(context, transaction, provider, provider_user, aud)
    match candidate.decision:
        case SignInDecision(identity):
            await users.lock(transaction, identity.user_id)
            await identities.refresh(transaction, identity, candidate.data)
            user = await account_changes.describe(transaction, identity.user_id, candidate.data)
        case LinkDecision(user_id):
            await users.lock(transaction, user_id)
            await identities.add(transaction, user_id, provider, provider_user.subject, candidate.data)
            user = await account_changes.describe(transaction, user_id, candidate.data)
        case CreateDecision() as new:
            for id in new.released:
                await account_changes.release_email(transaction, id)
            new_user = _new_user(context, candidate, new, aud, new_id or uuid4())
            user = await account_changes.create(
                transaction, new_user, provider, provider_user.subject, candidate.data
            )
    if user.is_banned(context.now()):
        raise rejections.USER_BANNED()
    entry = await _decide_entry(context, transaction, candidate, user, target)
    return replace(entry, linked=provider if isinstance(candidate.decision, LinkDecision) else "")


def rules_of(context: DeliveryContext) -> LinkingRules:
    """Return the rules of the settings."""
    settings = context.settings
    return LinkingRules(
        not settings.email.enable_confirmations, settings.enable_signup, settings.linking_domains
    )


async def confirmation(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, target: str = ""
) -> OutgoingEmail | None:
    """Prepare the email that asks to confirm an account's address; None if one was sent within the pause.

    Raises: AuthError (400, 429).
    """
    email = (user.email or "").lower()
    try:
        await code_messages.reject_too_soon(context, transaction, user, code_messages.SIGNUP.kind, email)
    except AuthError:
        return None
    return await code_messages.prepare_mail(context, transaction, user, code_messages.SIGNUP, target)


async def _looked_up(
    context: DeliveryContext, transaction: Transaction, provider: str, provider_user: ProviderUser, aud: str
) -> _Candidate:
    provider_user, rules = normalize_user(provider_user), rules_of(context)
    addresses = [email.address for email in provider_user.emails]
    await identities.lock_names(transaction, provider, provider_user.subject, addresses)
    identity = await identities.find(transaction, provider, provider_user.subject)
    holders = await identities.holders(transaction, addresses, aud or context.settings.jwt_aud)
    decision = decide(provider, provider_user, identity, holders, rules)
    data = identity_data(provider_user, provider_user.primary)
    return _Candidate(
        provider, provider_user, data, trusted_addresses(provider_user, rules), holders, decision
    )


def _new_user(
    context: DeliveryContext, candidate: _Candidate, new: CreateDecision, aud: str, id: UUID
) -> NewExternalUser:
    settings = context.settings
    email = "" if new.email is None else new.email.address
    return NewExternalUser(
        id,
        aud or settings.jwt_aud,
        settings.jwt_default_group_name,
        email,
        is_single_sign_on(candidate.provider),
    )


async def _decide_entry(
    context: DeliveryContext, transaction: Transaction, candidate: _Candidate, user: AuthUser, target: str
) -> ExternalSignIn:
    """Confirm the account if the provider's word allows it, or return what is missing."""
    email, is_new = (user.email or "").lower(), isinstance(candidate.decision, CreateDecision)
    verified = {address.address for address in candidate.provider_user.emails if address.is_verified}
    if email in verified and await proofs.is_first_proof(transaction, user, "email"):
        return ExternalSignIn(await _proven(context, transaction, candidate, user, ""), is_new)
    if user.confirmed_at is not None or (not candidate.provider_user.emails and not email):
        if user.is_anonymous:
            user = await account_changes.make_permanent(transaction, user.id)
        return ExternalSignIn(user, is_new)
    free = [trusted for trusted in candidate.trusted if _may_have(user, trusted, candidate.holders)]
    if email in candidate.trusted or free:
        address = "" if email in candidate.trusted else free[0]
        user = await _proven(context, transaction, candidate, user, address)
        if (address or email) not in verified:
            await proofs.note_unproven(transaction, user.id, "email", address or email)
        return ExternalSignIn(user, is_new)
    if candidate.trusted and not email:  # proven, but another account has it already
        return ExternalSignIn(user, is_new)
    mail = await confirmation(context, transaction, user, target) if email else None
    if context.settings.email.allow_unverified_email_sign_ins:
        return ExternalSignIn(user, is_new, mail)
    missing = rejections.UNVERIFIED_EMAIL_SENT if email else rejections.UNVERIFIED_EMAIL
    return ExternalSignIn(user, is_new, mail, missing(provider=candidate.provider))


async def _proven(
    context: DeliveryContext, transaction: Transaction, candidate: _Candidate, user: AuthUser, address: str
) -> AuthUser:
    """Confirm an account by the provider's word, and delete what gave access before. An empty address means its own."""
    was_confirmed, is_new = user.confirmed_at is not None, isinstance(candidate.decision, CreateDecision)
    if not is_new:
        await account_changes.drop_all_else(
            transaction, user.id, candidate.provider, candidate.provider_user.subject
        )
    user = await account_changes.confirm(transaction, user.id, address, context.now())
    await proofs.note_proven(transaction, user.id, "email")
    if is_new:
        return user
    return await account_changes.describe(transaction, user.id, candidate.data, is_whole=not was_confirmed)


def _may_have(user: AuthUser, address: str, holders: Sequence[AddressHolder]) -> bool:
    """Return whether an account can take an address: no other account has it, or the user is one of single sign-on."""
    others = (holder for holder in holders if holder.is_own and holder.user_id != user.id)
    return user.is_sso_user or all(other.address != address for other in others)
