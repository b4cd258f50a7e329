"""Which account a person from outside enters, decided from what is known of him and of his addresses. Pure.

The rules, in their order:

1. An identity that is known is its user's.
2. Else an address that the provider has verified leads to the one account of the same linking domain that has it. Holders
   who have proven the address come before those who have not. (The reference lets any address do so where accounts are
   confirmed at once; then a provider that verifies none would open everybody's account.)
3. Else there is a new account, unless sign-ups are disabled. It gets no address that another account has.

An address that its account has never proven (or that was confirmed at once, which proves nothing) is a weak claim: whoever
made the account may have meant to wait for the owner. Such an account is joined, and `linking` drops what was there before. If it has proven something else, as a phone, it
is somebody's: it keeps everything but the address (`New.released`).

Source: reference page "auth", sections 11.3 and 11.4.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from workers.auth.accounts.users.addresses import normal_email
from workers.auth.accounts.users.identities import Holder
from workers.auth.federation.social.protocol import ProviderEmail, ProviderUser
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import Identity, Metadata

SINGLE_SIGN_ON = "sso:"
"""How the names of single sign-on providers begin."""
_COMMON = "default"
_MOST_ADDRESSES = 20
_LONGEST_SUBJECT = 1024
_UNKEEPABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the settings say. `trusts_all`: accounts are confirmed at once; `domains` name some providers'."""

    trusts_all: bool = False
    allows_sign_up: bool = True
    domains: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """The identity is a user's."""

    identity: Identity


@dataclass(frozen=True, slots=True)
class Join:
    """The identity is added to a user."""

    user_id: UUID


@dataclass(frozen=True, slots=True)
class New:
    """A user is made. `email` is None where another has the address; `released` are users who must give it up."""

    email: ProviderEmail | None
    released: tuple[UUID, ...] = ()


Decision = Known | Join | New


def decide(
    provider: str, person: ProviderUser, known: Identity | None, holders: Sequence[Holder], rules: Rules
) -> Decision:
    """Decide which account a person enters. `person` is normalised, `holders` are those of all his addresses.

    Raises: AuthError (422 if sign-ups are disabled, 500 if several accounts have the addresses).
    """
    if known is not None:
        return Known(known)
    # An address that its provider has not verified opens nobody's account, even where accounts are confirmed at once.
    verified = {each.address for each in person.emails if each.is_verified}
    domain = domain_of(provider, rules)
    near = [
        each for each in holders if each.address in verified and domain_of(each.provider, rules) == domain
    ]
    proven = {each.user_id for each in near if each.is_proven}
    weak = {each.user_id for each in near if each.is_own and not each.is_confirmed} - proven
    found = proven or weak
    if len(found) > 1:
        raise rejections.MULTIPLE_ACCOUNTS()
    if found:
        (user_id,) = found
        return Join(user_id)
    if not rules.allows_sign_up:
        raise rejections.SIGNUP_DISABLED()
    return _new(provider, person, near, holders, rules)


def _new(
    provider: str, person: ProviderUser, near: Sequence[Holder], holders: Sequence[Holder], rules: Rules
) -> New:
    email = person.primary
    if email is None or is_single_sign_on(provider):  # addresses of single sign-on need not be unique
        return New(email)
    released = {each.user_id for each in near if each.is_own and each.address == email.address}
    owners = {each.user_id for each in holders if each.is_own and each.address == email.address}
    return New(None if owners - released else email, tuple(sorted(released)))


def is_trusted(email: ProviderEmail, rules: Rules) -> bool:
    """Tell whether an address counts as the person's own."""
    return email.is_verified or rules.trusts_all


def trusted_addresses(person: ProviderUser, rules: Rules) -> tuple[str, ...]:
    """Give the addresses that count as a person's own, the best one first. `person` is normalised."""
    return tuple(each.address for each in person.emails if is_trusted(each, rules))


def domain_of(provider: str, rules: Rules) -> str:
    """Give the linking domain of a provider; that of an account's own address with the empty name."""
    return provider if is_single_sign_on(provider) else rules.domains.get(provider, _COMMON)


def is_single_sign_on(provider: str) -> bool:
    """Tell whether a provider is one of single sign-on."""
    return provider.startswith(SINGLE_SIGN_ON)


def normal(person: ProviderUser) -> ProviderUser:
    """Give a person with his addresses as they are kept: lower-case, each once, a verified one first, no unusable ones.

    Raises: AuthError (500) if the provider's id of him is none: whoever has the same would be the same person.
    """
    subject = person.subject
    if not subject.strip() or len(subject) > _LONGEST_SUBJECT or subject != _kept(subject):
        raise rejections.NO_PROVIDER_SUBJECT()
    found: dict[str, ProviderEmail] = {}
    for each in sorted(person.emails, key=lambda email: (not email.is_verified, not email.is_primary)):
        try:
            address = normal_email(each.address)
        except AuthError:  # nobody can have mail there
            continue
        found.setdefault(address, replace(each, address=address))
    return replace(person, emails=tuple(found.values())[:_MOST_ADDRESSES])


def identity_data(person: ProviderUser, email: ProviderEmail | None) -> Metadata:
    """Give what an identity keeps: the claims, the older names that applications read, and the address."""
    claims = {_kept(key): _cleaned(value) for key, value in person.claims.items() if value is not None}
    older = {"full_name": claims.get("name"), "avatar_url": claims.get("picture")}
    data = {key: value for key, value in older.items() if value is not None} | claims
    data |= {"sub": person.subject, "provider_id": person.subject}
    data.setdefault("phone_verified", False)
    if email is None:
        return {key: value for key, value in data.items() if key not in ("email", "email_verified")}
    return data | {"email": email.address, "email_verified": email.is_verified}


def _cleaned(value: object) -> object:
    """Give a claim without the characters that the database cannot hold."""
    match value:
        case str():
            return _kept(value)
        case Mapping():
            return {_kept(str(key)): _cleaned(each) for key, each in value.items()}
        case list() | tuple():
            return [_cleaned(each) for each in value]
    return value


def _kept(text: str) -> str:
    return _UNKEEPABLE.sub("\ufffd", text)
