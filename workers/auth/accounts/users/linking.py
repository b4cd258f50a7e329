"""Sign-in from outside: a provider's user enters his account, or a new one. For OAuth, ID tokens, SAML and wallets alike.

    admit       asks the hook of new accounts, if there will be one           not within a transaction
    enter       finds or makes the account, and says whether it may be used   within the caller's transaction
    Entry.tell  sends what is to be sent, once all is kept                    not within a transaction

How to use them:

    new_id = await linking.admit(accounts, "github", person, client=asked.device.address)
    async with accounts.transaction() as transaction:
        entry = await linking.enter(accounts, transaction, "github", person, new_id=new_id)
        if entry.refusal is None:
            granted = await accounts.begin_session(transaction, entry.user, Method.OAUTH, asked.device)
    await entry.tell(accounts, asked.device.address)          # raises the refusal: the account stays, and waits
    shown = await accounts.session_shown(entry.user, granted)

`social/decision.py` has the rules by which an account is found, `social/joining.py` the two other ways in which an identity
joins one: by its user's wish, and by invitation. An account that is entered must be confirmed: by an address that the
provider has verified (or by any, where accounts are confirmed at once), or earlier. Whoever proves the address of an account
first (`accounts/proofs.py`) has it for himself: its password, other identities, sessions and factors are dropped, and the
metadata of an account that was not even confirmed. An address that counts as confirmed without a proof stays unproven.
Source: reference page "auth", sections 11.3, 11.4 and 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from workers.auth.accounts.users import identities, proofs, users
from workers.auth.accounts.users.identities import Holder
from workers.auth.context import Accounts
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.mails import Mail
from workers.auth.delivery.hooks.points import Point
from workers.auth.federation.social import account, notices
from workers.auth.federation.social.account import Newcomer
from workers.auth.federation.social.decision import (
    Decision,
    Join,
    Known,
    New,
    Rules,
    decide,
    identity_data,
    is_single_sign_on,
    normal,
    trusted_addresses,
)
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import Metadata, User
from workers.database.interactive import Transaction


@dataclass(frozen=True, slots=True)
class Entry:
    """The account that somebody enters. With a `refusal` there is no session, but the account is kept: commit."""

    user: User
    is_new: bool = False
    mail: Mail | None = None
    """What asks the owner of the account's address to confirm it."""
    refusal: AuthError | None = None
    linked: str = ""
    """The provider of an identity that an older account got just now."""

    async def tell(self, accounts: Accounts, client: str = "") -> None:
        """Send the mails, tell the project of a new account, and raise the refusal. Not within a transaction.

        Raises: AuthError.
        """
        if self.is_new:
            await accounts.hooks.after_user_created(self.user, client)
        if self.linked and self.refusal is None:
            await notices.tell_linked(accounts, self.user, self.linked)
        if self.mail is not None:
            try:
                await accounts.outbox.send(self.mail)
            except AuthError:
                if self.refusal is not None:  # else he is in without it, and the log says why it is missing
                    raise
        if self.refusal is not None:
            raise self.refusal


@dataclass(frozen=True, slots=True)
class _Coming:
    """Somebody at the door: what his provider told, and what was found out about him here."""

    provider: str
    person: ProviderUser
    data: Metadata
    trusted: tuple[str, ...]
    """His addresses that count as his own, the best one first."""
    holders: Sequence[Holder]
    decision: Decision


async def admit(
    accounts: Accounts, provider: str, person: ProviderUser, *, aud: str = "", client: str = ""
) -> UUID:
    """Ask the project whether a new account may be made, if one will be; give the id it will have.

    Raises: AuthError as `enter`, and as the hook has it.
    """
    id = uuid4()
    if accounts.hooks.has(Point.BEFORE_USER_CREATED):
        async with accounts.transaction() as transaction:
            coming = await _looked_up(accounts, transaction, provider, person, aud)
        if isinstance(coming.decision, New):
            new = _newcomer(accounts, coming, coming.decision, aud, id)
            await accounts.hooks.before_user_created(new.as_user(provider, coming.data), client)
    return id


async def enter(
    accounts: Accounts,
    transaction: Transaction,
    provider: str,
    person: ProviderUser,
    *,
    is_email_optional: bool = False,
    aud: str = "",
    new_id: UUID | None = None,
    target: str = "",
) -> Entry:
    """Find or make the account of a person, and keep what the provider tells of him.

    `provider` is the name in identities: `github`, `custom:acme`, `sso:<id>`, `web3`. Addresses of single sign-on count as
    verified: give them so. `aud` is the audience of new accounts, `new_id` their id (`admit`), `target` where the link of
    a mail leads, checked.
    Raises: AuthError (banned; sign-ups disabled; no address; several accounts have it): roll back.
    """
    if not normal(person).emails and not is_email_optional:
        raise rejections.NO_PROVIDER_EMAIL()
    coming = await _looked_up(accounts, transaction, provider, person, aud)
    match coming.decision:
        case Known(identity):
            await users.lock(transaction, identity.user_id)
            await identities.refresh(transaction, identity, coming.data)
            user = await account.describe(transaction, identity.user_id, coming.data)
        case Join(user_id):
            await users.lock(transaction, user_id)
            await identities.add(transaction, user_id, provider, person.subject, coming.data)
            user = await account.describe(transaction, user_id, coming.data)
        case New() as new:
            for each in new.released:
                await account.release_email(transaction, each)
            newcomer = _newcomer(accounts, coming, new, aud, new_id or uuid4())
            user = await account.make(transaction, newcomer, provider, person.subject, coming.data)
    if user.is_banned(accounts.now()):
        raise rejections.USER_BANNED()
    entry = await _settled(accounts, transaction, coming, user, target)
    return replace(entry, linked=provider if isinstance(coming.decision, Join) else "")


def rules_of(accounts: Accounts) -> Rules:
    """Give the rules of the settings."""
    own = accounts.settings
    return Rules(not own.email.enable_confirmations, own.enable_signup, own.linking_domains)


async def confirmation(
    accounts: Accounts, transaction: Transaction, user: User, target: str = ""
) -> Mail | None:
    """Prepare the mail that asks to confirm an account's address; None if one has just been sent.

    Raises: AuthError (400, 429).
    """
    email = (user.email or "").lower()
    try:
        await letters.refuse_too_soon(accounts, transaction, user, letters.SIGNUP.kind, email)
    except AuthError:
        return None
    return await letters.prepare_mail(accounts, transaction, user, letters.SIGNUP, target)


async def _looked_up(
    accounts: Accounts, transaction: Transaction, provider: str, person: ProviderUser, aud: str
) -> _Coming:
    person, rules = normal(person), rules_of(accounts)
    addresses = [each.address for each in person.emails]
    await identities.alone(transaction, provider, person.subject, addresses)
    known = await identities.find(transaction, provider, person.subject)
    holders = await identities.holders(transaction, addresses, aud or accounts.settings.jwt_aud)
    decision = decide(provider, person, known, holders, rules)
    data = identity_data(person, person.primary)
    return _Coming(provider, person, data, trusted_addresses(person, rules), holders, decision)


def _newcomer(accounts: Accounts, coming: _Coming, new: New, aud: str, id: UUID) -> Newcomer:
    own = accounts.settings
    email = "" if new.email is None else new.email.address
    return Newcomer(
        id, aud or own.jwt_aud, own.jwt_default_group_name, email, is_single_sign_on(coming.provider)
    )


async def _settled(
    accounts: Accounts, transaction: Transaction, coming: _Coming, user: User, target: str
) -> Entry:
    """See that the account is confirmed, now or earlier, or say what is missing."""
    own, is_new = (user.email or "").lower(), isinstance(coming.decision, New)
    verified = {each.address for each in coming.person.emails if each.is_verified}
    if own in verified and await proofs.is_first_proof(transaction, user, "email"):
        return Entry(await _proven(accounts, transaction, coming, user, ""), is_new)
    if user.confirmed_at is not None or (not coming.person.emails and not own):
        if user.is_anonymous:
            user = await account.make_permanent(transaction, user.id)
        return Entry(user, is_new)
    free = [each for each in coming.trusted if _may_have(user, each, coming.holders)]
    if own in coming.trusted or free:
        address = "" if own in coming.trusted else free[0]
        user = await _proven(accounts, transaction, coming, user, address)
        if (address or own) not in verified:
            await proofs.note_unproven(transaction, user.id, "email", address or own)
        return Entry(user, is_new)
    if coming.trusted and not own:  # proven, but another account has it already
        return Entry(user, is_new)
    mail = await confirmation(accounts, transaction, user, target) if own else None
    if accounts.settings.email.allow_unverified_email_sign_ins:
        return Entry(user, is_new, mail)
    missing = rejections.UNVERIFIED_EMAIL_SENT if own else rejections.UNVERIFIED_EMAIL
    return Entry(user, is_new, mail, missing(provider=coming.provider))


async def _proven(
    accounts: Accounts, transaction: Transaction, coming: _Coming, user: User, address: str
) -> User:
    """Confirm an account by the provider's word, and leave nobody in it who came before. An empty address: its own."""
    was_confirmed, is_new = user.confirmed_at is not None, isinstance(coming.decision, New)
    if not is_new:
        await account.drop_all_else(transaction, user.id, coming.provider, coming.person.subject)
    user = await account.confirm(transaction, user.id, address, accounts.now())
    await proofs.note_proven(transaction, user.id, "email")
    if is_new:
        return user
    return await account.describe(transaction, user.id, coming.data, is_whole=not was_confirmed)


def _may_have(user: User, address: str, holders: Sequence[Holder]) -> bool:
    """Tell whether an account can have an address: nobody else has it, or it is one of single sign-on."""
    others = (each for each in holders if each.is_own and each.user_id != user.id)
    return user.is_sso_user or all(each.address != address for each in others)
