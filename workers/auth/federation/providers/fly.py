"""Fly. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, known, member, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser


def fly(client: Client) -> OAuth2:
    """Make the provider."""
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
    """Read what a token stands for: a user and the organizations that it reaches."""
    name = text(profile, "user_name")
    claims = known(
        iss=issuer,
        name=name,
        full_name=name,
        custom_claims=known(organizations=member(profile, "organizations")),
    )
    emails = one_email(text(profile, "email"), is_verified=True)
    return person(text(profile, "user_id"), emails, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    return read_fly(profile, places.user.removesuffix("/oauth/token/info"))
