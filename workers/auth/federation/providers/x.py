"""X, by OAuth 2.0. Source: reference page "auth", section 26.1."""

from urllib.parse import urlencode

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, Login, OAuth2
from workers.auth.federation.providers.profile import Document, known, member, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

_WANTED = urlencode({"user.fields": "id,name,username,profile_image_url,confirmed_email"}, safe=",")


def x(client: Client) -> OAuth2:
    """Make the provider, which wants a code challenge."""
    host, api = client.host("https://x.com"), client.host("https://api.x.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/i/oauth2/authorize",
            token=f"{api}/2/oauth2/token",
            user=f"{api}/2/users/me",
        ),
        scopes=("users.email", "tweet.read", "users.read", "offline.access"),
        uses_pkce=True,
        login=Login.BASIC,
    )


def read_x(profile: Document, issuer: str) -> ProviderUser:
    """Read a user."""
    user = member(profile, "data")
    name, login, picture = (text(user, each) for each in ("name", "username", "profile_image_url"))
    claims = known(
        iss=issuer,
        name=name,
        preferred_username=login,
        picture=picture,
        full_name=name,
        avatar_url=picture,
        user_name=login,
    )
    emails = one_email(text(user, "confirmed_email"), is_verified=True)
    return person(text(user, "id"), emails, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(f"{places.user}?{_WANTED}", grant.access_token)
    return read_x(profile, places.user.removesuffix("/2/users/me"))
