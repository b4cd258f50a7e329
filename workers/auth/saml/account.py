"""The account of somebody whom an identity provider vouches for. Source: reference page "auth", sections 11.3 and 13."""

from dataclasses import replace
from uuid import UUID

from workers.auth.accounts import linking
from workers.auth.accounts.addresses import normal_email
from workers.auth.accounts.linking import Entry
from workers.auth.context import Accounts
from workers.auth.saml.assertion import Assertion
from workers.auth.saml.attributes import AttributeMapping, email, mapped_claims, profile, user_id
from workers.auth.saml.providers import Provider, Saml
from workers.auth.social import account
from workers.auth.social.protocol import ProviderEmail, ProviderUser
from workers.database.interactive import Transaction


def person_of(assertion: Assertion, saml: Saml) -> ProviderUser:
    """Give the person that an assertion tells of; the address counts as verified. Raises: AuthError (400)."""
    subject = user_id(assertion)
    claims = mapped_claims(assertion, saml.attribute_mapping or AttributeMapping())
    address = normal_email(email(assertion, claims))
    verified = ProviderEmail(address, is_verified=True, is_primary=True)
    return ProviderUser(subject, (verified,), profile(claims, issuer=saml.entity_id))


async def enter(
    accounts: Accounts,
    transaction: Transaction,
    provider: Provider,
    person: ProviderUser,
    new_id: UUID | None = None,
) -> Entry:
    """Find or make the account of a person. It follows its identity provider to another address: nobody else may change it.

    `new_id` is that of `linking.admit`. Raises: AuthError as `linking.enter`.
    """
    entry = await linking.enter(accounts, transaction, provider.name, person, new_id=new_id)
    address = person.emails[0].address
    if entry.refusal is not None or not entry.user.is_sso_user or entry.user.email == address:
        return entry
    user = await account.set_email(transaction, entry.user.id, address, accounts.now())
    return replace(entry, user=user)
