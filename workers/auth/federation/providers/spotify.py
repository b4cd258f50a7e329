"""Spotify. Source: reference page "auth", section 26.1."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, Login, OAuth2
from workers.auth.federation.providers.profile import Document, items, known, member, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser


def spotify(client: Client) -> OAuth2:
    """Make the provider."""
    host, api = client.host("https://accounts.spotify.com"), client.host("https://api.spotify.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{host}/authorize", token=f"{host}/api/token", user=f"{api}/v1/me"),
        scopes=("user-read-email",),
        uses_pkce=True,
        login=Login.BASIC,
    )


def largest_picture(profile: Document) -> str:
    """Give the address of the largest picture; one of unknown size counts as small."""

    def size(picture: object) -> int:
        sides = (member(picture, "width"), member(picture, "height"))
        return max((each for each in sides if isinstance(each, int)), default=0)

    return text(max(items(profile, "images"), key=size, default={}), "url")


def read_spotify(profile: Document, issuer: str) -> ProviderUser:
    """Read a user. Spotify never says that an address is the user's."""
    name, picture = text(profile, "display_name"), largest_picture(profile)
    claims = known(
        iss=issuer,
        name=name,
        picture=picture,
        full_name=name,
        avatar_url=picture,
        profile=text(profile, "external_urls", "spotify"),
    )
    emails = one_email(text(profile, "email"), is_verified=False)
    return person(text(profile, "id"), emails, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    return read_spotify(profile, places.user.removesuffix("/me"))
