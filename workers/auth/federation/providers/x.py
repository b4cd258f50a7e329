"""X, by OAuth 2.0. Source: docs/reference/auth.md, section 26.1."""

from urllib.parse import urlencode

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import ClientAuthentication, Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import (
    Document,
    make_user,
    member,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

_QUERY = urlencode({"user.fields": "id,name,username,profile_image_url,confirmed_email"}, safe=",")


def x(client: ProviderClient) -> OAuth2:
    """Return the provider, which requires a code challenge."""
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
        login=ClientAuthentication.BASIC,
    )


def read_x(profile: Document, issuer: str) -> ProviderUser:
    """Read a user."""
    user = member(profile, "data")
    name, login, picture = (
        text(user, member_name) for member_name in ("name", "username", "profile_image_url")
    )
    claims = nonempty(
        iss=issuer,
        name=name,
        preferred_username=login,
        picture=picture,
        full_name=name,
        avatar_url=picture,
        user_name=login,
    )
    emails = single_email(text(user, "confirmed_email"), is_verified=True)
    return make_user(text(user, "id"), emails, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(f"{endpoints.user}?{_QUERY}", tokens.access_token)
    return read_x(profile, endpoints.user.removesuffix("/2/users/me"))
