"""Notion. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, Login, OAuth2
from workers.auth.federation.providers.profile import Document, known, member, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

_VERSION = {"notion-version": "2021-08-16"}


def notion(client: Client) -> OAuth2:
    """Make the provider."""
    api = client.host("https://api.notion.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{api}/v1/oauth/authorize",
            token=f"{api}/v1/oauth/token",
            user=f"{api}/v1/users/me",
        ),
        parameters={"owner": "user"},
        login=Login.BASIC,
    )


def read_notion(profile: Document, issuer: str) -> ProviderUser:
    """Read the bot that a token speaks for: its owner is the user."""
    user = member(profile, "bot", "owner", "user")
    name, picture = text(user, "name"), text(user, "avatar_url")
    claims = known(iss=issuer, name=name, picture=picture, full_name=name, avatar_url=picture)
    emails = one_email(text(user, "person", "email"), is_verified=True)
    return person(text(user, "id"), emails, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token, _VERSION)
    return read_notion(profile, places.user.removesuffix("/v1/users/me"))
