"""Figma. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, Login, OAuth2
from workers.auth.federation.providers.profile import Document, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser


def figma(client: Client) -> OAuth2:
    """Make the provider."""
    host, api = client.host("https://www.figma.com"), client.host("https://api.figma.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{host}/oauth", token=f"{api}/v1/oauth/token", user=f"{api}/v1/me"),
        scopes=("current_user:read",),
        login=Login.BASIC,
    )


def read_figma(profile: Document, issuer: str) -> ProviderUser:
    """Read a user, whose address Figma has confirmed."""
    handle, picture = text(profile, "handle"), text(profile, "img_url")
    claims = known(iss=issuer, name=handle, picture=picture, full_name=handle, avatar_url=picture)
    return person(text(profile, "id"), one_email(text(profile, "email"), is_verified=True), claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    return read_figma(profile, places.user.removesuffix("/v1/me"))
