"""Bitbucket. Source: reference page "auth", section 26.1."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, Login, OAuth2
from workers.auth.federation.providers.profile import Document, flag, items, known, person, text
from workers.auth.federation.social.protocol import Grant, ProviderEmail, ProviderUser


def bitbucket(client: Client) -> OAuth2:
    """Make the provider. Scopes are chosen where the client is registered."""
    host, api = client.host("https://bitbucket.org"), client.host("https://api.bitbucket.org")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/site/oauth2/authorize",
            token=f"{host}/site/oauth2/access_token",
            user=f"{api}/2.0/user",
            emails=f"{api}/2.0/user/emails",
        ),
        scopes=("account", "email"),
        takes_scopes=False,
        login=Login.BASIC,
    )


def read_bitbucket(profile: Document, emails: Document, api: str) -> ProviderUser:
    """Read a user and the page of addresses. The id is a UUID in braces."""
    addresses = (
        ProviderEmail(text(each, "email"), flag(each, "is_confirmed"), flag(each, "is_primary"))
        for each in items(emails, "values")
    )
    name, avatar = text(profile, "display_name"), text(profile, "links", "avatar", "href")
    claims = known(iss=api, name=name, picture=avatar, full_name=name, avatar_url=avatar)
    return person(text(profile, "uuid"), addresses, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    emails = await provider.client.profile(places.emails, grant.access_token)
    return read_bitbucket(profile, emails, places.user.removesuffix("/user"))
