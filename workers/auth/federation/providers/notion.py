"""Notion. Source: docs/reference/auth.md, section 26.2."""

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

_VERSION = {"notion-version": "2021-08-16"}


def notion(client: ProviderClient) -> OAuth2:
    """Return the provider."""
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
        login=ClientAuthentication.BASIC,
    )


def read_notion(profile: Document, issuer: str) -> ProviderUser:
    """Read the bot of a token; its owner is the user."""
    user = member(profile, "bot", "owner", "user")
    name, picture = text(user, "name"), text(user, "avatar_url")
    claims = nonempty(iss=issuer, name=name, picture=picture, full_name=name, avatar_url=picture)
    emails = single_email(text(user, "person", "email"), is_verified=True)
    return make_user(text(user, "id"), emails, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token, _VERSION)
    return read_notion(profile, endpoints.user.removesuffix("/v1/users/me"))
