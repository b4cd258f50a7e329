"""WorkOS, which leads to the single sign-on of many companies. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, joined, known, member, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser


def workos(client: Client) -> OAuth2:
    """Make the provider; a client says which of the companies' sign-ons it means."""
    api = client.host("https://api.workos.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{api}/sso/authorize", token=f"{api}/sso/token"),
        needs_one_of=("connection", "organization", "provider"),
    )


def read_workos(profile: Document, issuer: str) -> ProviderUser:
    """Read the profile that comes with the token."""
    given, family = text(profile, "first_name"), text(profile, "last_name")
    name = joined(given, family)
    custom = known(
        **{key: text(profile, key) for key in ("connection_id", "organization_id", "connection_type")}
    )
    claims = known(
        iss=issuer,
        name=name,
        given_name=given,
        family_name=family,
        full_name=name,
        custom_claims=custom,
    )
    return person(text(profile, "id"), one_email(text(profile, "email"), is_verified=True), claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    profile = member(grant.raw, "profile")
    issuer = provider.endpoints.token.removesuffix("/sso/token")
    return read_workos(profile if isinstance(profile, dict) else {}, issuer)
