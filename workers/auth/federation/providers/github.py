"""GitHub and GitHub Enterprise. Source: reference page "auth", section 26.1."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, flag, known, person, text
from workers.auth.federation.social.protocol import Grant, ProviderEmail, ProviderUser


def github(client: Client) -> OAuth2:
    """Make the provider; with a `url` it is GitHub Enterprise, whose API lies below it."""
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
        ProviderEmail(text(each, "email"), flag(each, "verified"), flag(each, "primary")) for each in emails
    )
    name, login, avatar = text(profile, "name"), text(profile, "login"), text(profile, "avatar_url")
    claims = known(
        iss=api,
        name=name,
        preferred_username=login,
        full_name=name,
        avatar_url=avatar,
        user_name=login,
    )
    return person(text(profile, "id"), addresses, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    emails = await provider.client.profiles(places.emails, grant.access_token)
    return read_github(profile, emails, places.user.removesuffix("/user"))
