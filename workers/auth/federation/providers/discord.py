"""Discord. Source: docs/reference/auth.md, section 26.1."""

from schemas.numbers import parse_whole_number
from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, flag, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

_MOST_DISCRIMINATOR = 9999

_PICTURES = "https://cdn.discordapp.com"
_DEFAULT_PICTURES = 5


def discord(client: ProviderClient) -> OAuth2:
    """Return the provider."""
    host = client.host("https://discord.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/api/oauth2/authorize",
            token=f"{host}/api/oauth2/token",
            user=f"{host}/api/users/@me",
        ),
        scopes=("email", "identify"),
    )


def picture_of(profile: Document) -> str:
    """Return the URL of a user's picture: his own, which may be animated, or one of five default ones."""
    id, picture = text(profile, "id"), text(profile, "avatar")
    if picture:
        return f"{_PICTURES}/avatars/{id}/{picture}.{'gif' if picture.startswith('a_') else 'png'}"
    number = parse_whole_number(text(profile, "discriminator"), most=_MOST_DISCRIMINATOR) or 0
    colour = number % _DEFAULT_PICTURES
    return f"{_PICTURES}/embed/avatars/{colour}.png"


def read_discord(profile: Document, issuer: str) -> ProviderUser:
    """Read a user."""
    username, picture = text(profile, "username"), picture_of(profile)
    claims = nonempty(
        iss=issuer,
        name=f"{username}#{text(profile, 'discriminator')}",
        picture=picture,
        full_name=username,
        avatar_url=picture,
        custom_claims=nonempty(global_name=text(profile, "global_name")),
    )
    emails = single_email(text(profile, "email"), is_verified=flag(profile, "verified"))
    return make_user(text(profile, "id"), emails, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    return read_discord(profile, endpoints.user.removesuffix("/users/@me"))
