"""Fly. Source: docs/reference/auth.md, section 26.2."""

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


def fly(client: ProviderClient) -> OAuth2:
    """Return the provider."""
    api = client.host("https://api.fly.io")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{api}/oauth/authorize",
            token=f"{api}/oauth/token",
            user=f"{api}/oauth/token/info",
        ),
        scopes=("read",),
    )


def read_fly(profile: Document, issuer: str) -> ProviderUser:
    """Read the information about a token: its user and the organizations it can access."""
    name = text(profile, "user_name")
    claims = nonempty(
        iss=issuer,
        name=name,
        full_name=name,
        custom_claims=nonempty(organizations=member(profile, "organizations")),
    )
    emails = single_email(text(profile, "email"), is_verified=True)
    return make_user(text(profile, "user_id"), emails, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    return read_fly(profile, endpoints.user.removesuffix("/oauth/token/info"))
