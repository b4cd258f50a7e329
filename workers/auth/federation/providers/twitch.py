"""Twitch. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, known, member, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

_CUSTOM = ("broadcaster_type", "description", "type", "offline_image_url")


def twitch(client: Client) -> OAuth2:
    """Make the provider."""
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
    """Read the list whose first entry is the user; Twitch gives confirmed addresses only."""
    user = member(profile, "data", 0)
    login, shown, picture = text(user, "login"), text(user, "display_name"), text(user, "profile_image_url")
    claims = known(
        iss=issuer,
        name=login,
        nickname=shown,
        picture=picture,
        full_name=login,
        avatar_url=picture,
        slug=shown,
        custom_claims=known(**{key: text(user, key) for key in _CUSTOM}),
    )
    return person(text(user, "id"), one_email(text(user, "email"), is_verified=True), claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    headers = {"client-id": provider.client.id}
    profile = await provider.client.profile(places.user, grant.access_token, headers)
    return read_twitch(profile, places.user.removesuffix("/helix/users"))
