"""Decides which account a provider's user gets: sign in, link, create, or an error. Pure.

The rules, in order:

1. A registered identity signs in to its user's account.
2. Else an address that the provider has verified links the identity to the account of the same linking domain that has the
   address. Accounts that have proven it come before those that have not. (GoTrue links by unverified addresses, too, if
   confirmations are off; then any account could be taken over by a provider that does not verify addresses.)
3. Else an account is created, unless sign-ups are disabled. It does not get an address that another account has.

The danger of rule 2 is pre-hijacking: an attacker signs up with a victim's address, never proves it, and waits for the victim.
So if an account has never proven its address, the identity is linked, and `flows/external_sign_in.py` removes all older
credentials of the account. If the account has proven something else, such as a phone, it is another user's: it keeps
everything but the address (`New.released`).

Source: docs/reference/auth.md, sections 11.3 and 11.4.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from workers.auth.accounts.users.identities import AddressHolder
from workers.auth.federation.social.protocol import ProviderEmail, ProviderUser
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import Metadata, UserIdentity

SINGLE_SIGN_ON = "sso:"
"""The prefix of the names of single sign-on providers."""
_COMMON = "default"
_MOST_ADDRESSES = 20
_LONGEST_SUBJECT = 1024
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class LinkingRules:
    """The settings for this decision. `trusts_all`: confirmations are off; `domains`: the linking domain of some providers."""

    trusts_all: bool = False
    allows_sign_up: bool = True
    domains: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SignInDecision:
    """Sign in to the account of a registered identity."""

    identity: UserIdentity


@dataclass(frozen=True, slots=True)
class LinkDecision:
    """Link the identity to an existing account."""

    user_id: UUID


@dataclass(frozen=True, slots=True)
class CreateDecision:
    """Create an account. `email` is None if another account has the address; accounts in `released` lose it."""

    email: ProviderEmail | None
    released: tuple[UUID, ...] = ()


AccountDecision = SignInDecision | LinkDecision | CreateDecision


def decide(
    provider: str,
    person: ProviderUser,
    identity: UserIdentity | None,
    holders: Sequence[AddressHolder],
    rules: LinkingRules,
) -> AccountDecision:
    """Decide about a user. `person` is normalized, `holders` are the accounts with any of his addresses.

    Raises: AuthError (422 if sign-ups are disabled, 500 if several accounts match).
    """
    if identity is not None:
        return SignInDecision(identity)
    # Rule 2: only verified addresses link, even if confirmations are off.
    verified = {email.address for email in person.emails if email.is_verified}
    domain = linking_domain_of(provider, rules)
    near = [
        holder
        for holder in holders
        if holder.address in verified and linking_domain_of(holder.provider, rules) == domain
    ]
    proven = {holder.user_id for holder in near if holder.is_proven}
    weak = {holder.user_id for holder in near if holder.is_own and not holder.is_confirmed} - proven
    owners = proven or weak
    if len(owners) > 1:
        raise rejections.MULTIPLE_ACCOUNTS()
    if owners:
        (user_id,) = owners
        return LinkDecision(user_id)
    if not rules.allows_sign_up:
        raise rejections.SIGNUP_DISABLED()
    return _new(provider, person, near, holders, rules)


def _new(
    provider: str,
    person: ProviderUser,
    near: Sequence[AddressHolder],
    holders: Sequence[AddressHolder],
    rules: LinkingRules,
) -> CreateDecision:
    email = person.primary
    if email is None or is_single_sign_on(provider):  # addresses of single sign-on need not be unique
        return CreateDecision(email)
    released = {holder.user_id for holder in near if holder.is_own and holder.address == email.address}
    owners = {holder.user_id for holder in holders if holder.is_own and holder.address == email.address}
    return CreateDecision(None if owners - released else email, tuple(sorted(released)))


def is_trusted(email: ProviderEmail, rules: LinkingRules) -> bool:
    """Return whether an address counts as the user's own."""
    return email.is_verified or rules.trusts_all


def trusted_addresses(person: ProviderUser, rules: LinkingRules) -> tuple[str, ...]:
    """Return the addresses that count as the user's own, the best one first. `person` is normalized."""
    return tuple(email.address for email in person.emails if is_trusted(email, rules))


def linking_domain_of(provider: str, rules: LinkingRules) -> str:
    """Return the linking domain of a provider; the empty name stands for the address of an account itself."""
    return provider if is_single_sign_on(provider) else rules.domains.get(provider, _COMMON)


def is_single_sign_on(provider: str) -> bool:
    """Return whether a provider is for single sign-on."""
    return provider.startswith(SINGLE_SIGN_ON)


def normalize_user(person: ProviderUser) -> ProviderUser:
    """Return a user with normalized addresses: lower-case, without duplicates, verified ones first, no invalid ones.

    Raises: AuthError (500) if the subject is empty or not storable: two such users would be taken for one.
    """
    subject = person.subject
    if not subject.strip() or len(subject) > _LONGEST_SUBJECT or subject != _storable(subject):
        raise rejections.NO_PROVIDER_SUBJECT()
    by_address: dict[str, ProviderEmail] = {}
    for entry in sorted(person.emails, key=lambda email: (not email.is_verified, not email.is_primary)):
        try:
            address = normal_email(entry.address)
        except AuthError:  # not a valid address
            continue
        by_address.setdefault(address, replace(entry, address=address))
    return replace(person, emails=tuple(by_address.values())[:_MOST_ADDRESSES])


def identity_data(person: ProviderUser, email: ProviderEmail | None) -> Metadata:
    """Return the stored data of an identity: the claims, older names of them that applications read, and the address."""
    claims = {_storable(key): _cleaned(value) for key, value in person.claims.items() if value is not None}
    older = {"full_name": claims.get("name"), "avatar_url": claims.get("picture")}
    data = {key: value for key, value in older.items() if value is not None} | claims
    data |= {"sub": person.subject, "provider_id": person.subject}
    data.setdefault("phone_verified", False)
    if email is None:
        return {key: value for key, value in data.items() if key not in ("email", "email_verified")}
    return data | {"email": email.address, "email_verified": email.is_verified}


def _cleaned(value: object) -> object:
    """Return a claim without characters that Postgres cannot store."""
    match value:
        case str():
            return _storable(value)
        case Mapping():
            return {_storable(str(key)): _cleaned(item) for key, item in value.items()}
        case list() | tuple():
            return [_cleaned(item) for item in value]
    return value


def _storable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)
