"""GitHub and GitHub Enterprise. Source: docs/reference/auth.md, section 26.1."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, flag, make_user, nonempty, text
from workers.auth.federation.social.protocol import ProviderEmail, ProviderTokenResponse, ProviderUser


def github(client: ProviderClient) -> OAuth2:
    """Return the provider; with a `url` it is GitHub Enterprise, whose API has a path below it."""
    host = client.host("https://github.com")
    api = f"{client.url}/api/v3" if client.url else "https://api.github.com"
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/login/oauth/authorize",
            token=f"{host}/login/oauth/access_token",
            user=f"{api}/user",
            emails=f"{api}/user/emails",
        ),
        scopes=("user:email",),
        uses_pkce=True,
    )


def read_github(profile: Document, emails: list[object], api: str) -> ProviderUser:
    """Read a user and the list of addresses."""
    addresses = (
        ProviderEmail(text(email, "email"), flag(email, "verified"), flag(email, "primary"))
        for email in emails
    )
    name, login, avatar = text(profile, "name"), text(profile, "login"), text(profile, "avatar_url")
    claims = nonempty(
        iss=api,
        name=name,
        preferred_username=login,
        full_name=name,
        avatar_url=avatar,
        user_name=login,
    )
    return make_user(text(profile, "id"), addresses, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    emails = await provider.client.profiles(endpoints.emails, tokens.access_token)
    return read_github(profile, emails, endpoints.user.removesuffix("/user"))
