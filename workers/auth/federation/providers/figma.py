"""Figma. Source: docs/reference/auth.md, section 26.2."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import ClientAuthentication, Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser


def figma(client: ProviderClient) -> OAuth2:
    """Return the provider."""
    host, api = client.host("https://www.figma.com"), client.host("https://api.figma.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{host}/oauth", token=f"{api}/v1/oauth/token", user=f"{api}/v1/me"),
        scopes=("current_user:read",),
        login=ClientAuthentication.BASIC,
    )


def read_figma(profile: Document, issuer: str) -> ProviderUser:
    """Read a user; Figma confirms addresses."""
    handle, picture = text(profile, "handle"), text(profile, "img_url")
    claims = nonempty(iss=issuer, name=handle, picture=picture, full_name=handle, avatar_url=picture)
    return make_user(text(profile, "id"), single_email(text(profile, "email"), is_verified=True), claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    return read_figma(profile, endpoints.user.removesuffix("/v1/me"))
