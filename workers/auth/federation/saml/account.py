"""The account of somebody whom an identity provider vouches for. Source: reference page "auth", sections 11.3 and 13."""

from dataclasses import replace
from uuid import UUID

from workers.auth.accounts.users import identities, linking
from workers.auth.accounts.users.addresses import normal_email
from workers.auth.accounts.users.linking import Entry
from workers.auth.context import Accounts
from workers.auth.federation.saml import providers
from workers.auth.federation.saml.assertion import Assertion
from workers.auth.federation.saml.attributes import AttributeMapping, email, mapped_claims, profile, user_id
from workers.auth.federation.saml.providers import Provider, Saml
from workers.auth.federation.social import account
from workers.auth.federation.social.protocol import ProviderEmail, ProviderUser
from workers.auth.model import rejections
from workers.database.interactive import Transaction


def person_of(assertion: Assertion, saml: Saml) -> ProviderUser:
    """Give the person that an assertion tells of; the address counts as verified. Raises: AuthError (400)."""
    subject = user_id(assertion)
    claims = mapped_claims(assertion, saml.attribute_mapping or AttributeMapping())
    address = normal_email(email(assertion, claims))
    verified = ProviderEmail(address, is_verified=True, is_primary=True)
    return ProviderUser(subject, (verified,), profile(claims, issuer=saml.entity_id))


async def refuse_foreign(
    accounts: Accounts, transaction: Transaction, provider: Provider, address: str
) -> None:
    """Raise unless a provider may vouch for an address: one of its domains, or of nobody's if it has none.

    Accounts of single sign-on stand apart from all others, but policies and applications that read the address of a token
    do not see that: whoever administers one provider must not become the user of another. A provider without domains
    vouches for no domain of another one, and for no address that an account outside of single sign-on has proven.
    Raises: AuthError (400).
    """
    domain = address.rpartition("@")[2]
    domains = {each.domain.lower() for each in provider.domains}
    if domains:
        if domain not in domains:
            raise rejections.SAML_ADDRESS_FOREIGN(email=address)
        return
    if await providers.domain_owner(transaction, domain) not in (None, provider.id):
        raise rejections.SAML_ADDRESS_FOREIGN(email=address)
    holders = await identities.holders(transaction, [address], accounts.settings.jwt_aud)
    if any(holder.is_own and holder.is_proven for holder in holders):
        raise rejections.SAML_ADDRESS_TAKEN(email=address)


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
    address = person.emails[0].address
    await refuse_foreign(accounts, transaction, provider, address)
    entry = await linking.enter(accounts, transaction, provider.name, person, new_id=new_id)
    if entry.refusal is not None or not entry.user.is_sso_user or entry.user.email == address:
        return entry
    user = await account.set_email(transaction, entry.user.id, address, accounts.now())
    return replace(entry, user=user)
