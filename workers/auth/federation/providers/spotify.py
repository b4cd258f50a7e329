"""Spotify. Source: docs/reference/auth.md, section 26.1."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import ClientAuthentication, Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import (
    Document,
    items,
    make_user,
    member,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser


def spotify(client: ProviderClient) -> OAuth2:
    """Return the provider."""
    host, api = client.host("https://accounts.spotify.com"), client.host("https://api.spotify.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{host}/authorize", token=f"{host}/api/token", user=f"{api}/v1/me"),
        scopes=("user-read-email",),
        uses_pkce=True,
        login=ClientAuthentication.BASIC,
    )


def largest_picture(profile: Document) -> str:
    """Return the URL of the largest picture; an unknown size counts as 0."""

    def size(picture: object) -> int:
        sides = (member(picture, "width"), member(picture, "height"))
        return max((side for side in sides if isinstance(side, int)), default=0)

    return text(max(items(profile, "images"), key=size, default={}), "url")


def read_spotify(profile: Document, issuer: str) -> ProviderUser:
    """Read a user. Spotify does not verify addresses."""
    name, picture = text(profile, "display_name"), largest_picture(profile)
    claims = nonempty(
        iss=issuer,
        name=name,
        picture=picture,
        full_name=name,
        avatar_url=picture,
        profile=text(profile, "external_urls", "spotify"),
    )
    emails = single_email(text(profile, "email"), is_verified=False)
    return make_user(text(profile, "id"), emails, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    return read_spotify(profile, endpoints.user.removesuffix("/me"))
