"""Sign-in by a SAML assertion: finds or creates the user that an identity provider asserts.

Source: docs/reference/auth.md, section 11.
"""

from dataclasses import replace
from uuid import UUID

from workers.auth.accounts.users import account_changes, identities
from workers.auth.delivery.context import DeliveryContext
from workers.auth.federation.saml import providers
from workers.auth.federation.saml.assertion import SamlAssertion
from workers.auth.federation.saml.attributes import AttributeMapping, email, mapped_claims, profile, user_id
from workers.auth.federation.saml.providers import SamlRegistration, SsoProvider
from workers.auth.federation.social.protocol import ProviderEmail, ProviderUser
from workers.auth.flows import external_sign_in
from workers.auth.flows.external_sign_in import ExternalSignIn
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email
from workers.database.transactions.interactive import Transaction


def external_user(assertion: SamlAssertion, saml: SamlRegistration) -> ProviderUser:
    """Return the external user of an assertion; the address counts as verified. Raises: AuthError (400)."""
    subject = user_id(assertion)
    claims = mapped_claims(assertion, saml.attribute_mapping or AttributeMapping())
    address = normal_email(email(assertion, claims))
    verified = ProviderEmail(address, is_verified=True, is_primary=True)
    return ProviderUser(subject, (verified,), profile(claims, issuer=saml.entity_id))


async def reject_foreign(
    context: DeliveryContext, transaction: Transaction, provider: SsoProvider, address: str
) -> None:
    """Raise unless a provider may assert an address.

    Users of single sign-on are separate from all others, but policies and applications that read the address in a token do not
    see that: the administrator of one provider must not be able to impersonate a user of another. A provider with domains may
    assert addresses of these only. A provider without domains may assert none of another provider's domains, and no address
    that a user outside of single sign-on has proven.
    Raises: AuthError (400).
    """
    domain = address.rpartition("@")[2]
    domains = {row.domain.lower() for row in provider.domains}
    if domains:
        if domain not in domains:
            raise rejections.SAML_ADDRESS_FOREIGN(email=address)
        return
    if await providers.domain_owner(transaction, domain) not in (None, provider.id):
        raise rejections.SAML_ADDRESS_FOREIGN(email=address)
    holders = await identities.holders(transaction, [address], context.settings.jwt_aud)
    if any(holder.is_own and holder.is_proven for holder in holders):
        raise rejections.SAML_ADDRESS_TAKEN(email=address)


async def sign_in(
    context: DeliveryContext,
    transaction: Transaction,
    provider: SsoProvider,
    provider_user: ProviderUser,
    new_id: UUID | None = None,
) -> ExternalSignIn:
    """Find or create the user. The address follows the identity provider, because users of single sign-on cannot change it.

    `new_id` is that of `external_sign_in.ask_hook`. Raises: AuthError as `external_sign_in.sign_in`.
    """
    address = provider_user.emails[0].address
    await reject_foreign(context, transaction, provider, address)
    entry = await external_sign_in.sign_in(context, transaction, provider.name, provider_user, new_id=new_id)
    if entry.rejection is not None or not entry.user.is_sso_user or entry.user.email == address:
        return entry
    user = await account_changes.set_email(transaction, entry.user.id, address, context.now())
    return replace(entry, user=user)
