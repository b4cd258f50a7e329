"""Twitch. Source: docs/reference/auth.md, section 26.2."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import (
    Document,
    make_user,
    member,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

_CUSTOM = ("broadcaster_type", "description", "type", "offline_image_url")


def twitch(client: ProviderClient) -> OAuth2:
    """Return the provider."""
    host, api = client.host("https://id.twitch.tv"), client.host("https://api.twitch.tv")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/oauth2/authorize",
            token=f"{host}/oauth2/token",
            user=f"{api}/helix/users",
        ),
        scopes=("user:read:email",),
        uses_pkce=True,
    )


def read_twitch(profile: Document, issuer: str) -> ProviderUser:
    """Read a list whose first entry is the user; Twitch returns confirmed addresses only."""
    user = member(profile, "data", 0)
    login, display_name, picture = (
        text(user, "login"),
        text(user, "display_name"),
        text(user, "profile_image_url"),
    )
    claims = nonempty(
        iss=issuer,
        name=login,
        nickname=display_name,
        picture=picture,
        full_name=login,
        avatar_url=picture,
        slug=display_name,
        custom_claims=nonempty(**{key: text(user, key) for key in _CUSTOM}),
    )
    return make_user(text(user, "id"), single_email(text(user, "email"), is_verified=True), claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    headers = {"client-id": provider.client.id}
    profile = await provider.client.profile(endpoints.user, tokens.access_token, headers)
    return read_twitch(profile, endpoints.user.removesuffix("/helix/users"))
