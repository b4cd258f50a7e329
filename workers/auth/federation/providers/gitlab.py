"""GitLab, the public one or one's own. Source: reference page "auth", section 26.1."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, known, person, text
from workers.auth.federation.social.protocol import Grant, ProviderEmail, ProviderUser


def gitlab(client: Client) -> OAuth2:
    """Make the provider."""
    host = client.host("https://gitlab.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/oauth/authorize",
            token=f"{host}/oauth/token",
            user=f"{host}/api/v4/user",
            emails=f"{host}/api/v4/user/emails",
        ),
        scopes=("read_user",),
        uses_pkce=True,
    )


def read_gitlab(profile: Document, emails: list[object], host: str) -> ProviderUser:
    """Read a user and the list of further addresses, which are never known to be the user's."""
    main = text(profile, "email")
    others = [text(each, "email") for each in emails]
    addresses = (
        ProviderEmail(main, bool(text(profile, "confirmed_at")), is_primary=True),
        *(ProviderEmail(each) for each in others if each != main),
    )
    name, avatar = text(profile, "name"), text(profile, "avatar_url")
    claims = known(
        iss=host,
        name=name,
        preferred_username=text(profile, "username"),
        picture=avatar,
        full_name=name,
        avatar_url=avatar,
        user_name=text(profile, "username"),
    )
    return person(text(profile, "id"), addresses, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    emails = await provider.client.profiles(places.emails, grant.access_token)
    return read_gitlab(profile, emails, places.user.removesuffix("/api/v4/user"))
