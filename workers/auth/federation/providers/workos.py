"""WorkOS, a gateway to the single sign-on of many companies. Source: docs/reference/auth.md, section 26.2."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import (
    Document,
    join_names,
    make_user,
    member,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser


def workos(client: ProviderClient) -> OAuth2:
    """Return the provider; the application names the company's connection by a parameter."""
    api = client.host("https://api.workos.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{api}/sso/authorize", token=f"{api}/sso/token"),
        needs_one_of=("connection", "organization", "provider"),
    )


def read_workos(profile: Document, issuer: str) -> ProviderUser:
    """Read the profile in the token response."""
    given_name, family_name = text(profile, "first_name"), text(profile, "last_name")
    name = join_names(given_name, family_name)
    custom = nonempty(
        **{key: text(profile, key) for key in ("connection_id", "organization_id", "connection_type")}
    )
    claims = nonempty(
        iss=issuer,
        name=name,
        given_name=given_name,
        family_name=family_name,
        full_name=name,
        custom_claims=custom,
    )
    return make_user(text(profile, "id"), single_email(text(profile, "email"), is_verified=True), claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    profile = member(tokens.raw, "profile")
    issuer = provider.endpoints.token.removesuffix("/sso/token")
    return read_workos(profile if isinstance(profile, dict) else {}, issuer)
