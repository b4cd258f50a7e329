"""Discord. Source: reference page "auth", section 26.1."""

from schemas.numbers import parse_whole_number
from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, flag, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

_MOST_DISCRIMINATOR = 9999

_PICTURES = "https://cdn.discordapp.com"
_OWN_COLOURS = 5


def discord(client: Client) -> OAuth2:
    """Make the provider."""
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
    """Give the address of a user's picture: the own one, which may move, or one of five."""
    id, picture = text(profile, "id"), text(profile, "avatar")
    if picture:
        return f"{_PICTURES}/avatars/{id}/{picture}.{'gif' if picture.startswith('a_') else 'png'}"
    number = parse_whole_number(text(profile, "discriminator"), most=_MOST_DISCRIMINATOR) or 0
    colour = number % _OWN_COLOURS
    return f"{_PICTURES}/embed/avatars/{colour}.png"


def read_discord(profile: Document, issuer: str) -> ProviderUser:
    """Read a user."""
    username, picture = text(profile, "username"), picture_of(profile)
    claims = known(
        iss=issuer,
        name=f"{username}#{text(profile, 'discriminator')}",
        picture=picture,
        full_name=username,
        avatar_url=picture,
        custom_claims=known(global_name=text(profile, "global_name")),
    )
    emails = one_email(text(profile, "email"), is_verified=flag(profile, "verified"))
    return person(text(profile, "id"), emails, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    return read_discord(profile, places.user.removesuffix("/users/@me"))
