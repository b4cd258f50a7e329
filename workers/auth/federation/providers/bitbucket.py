"""Bitbucket. Source: docs/reference/auth.md, section 26.1."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import ClientAuthentication, Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, flag, items, make_user, nonempty, text
from workers.auth.federation.social.protocol import ProviderEmail, ProviderTokenResponse, ProviderUser


def bitbucket(client: ProviderClient) -> OAuth2:
    """Return the provider. Scopes are set in the registration of the client."""
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
        login=ClientAuthentication.BASIC,
    )


def read_bitbucket(profile: Document, emails: Document, api: str) -> ProviderUser:
    """Read a user and the page of addresses. The id is a UUID in braces."""
    addresses = (
        ProviderEmail(text(email, "email"), flag(email, "is_confirmed"), flag(email, "is_primary"))
        for email in items(emails, "values")
    )
    name, avatar = text(profile, "display_name"), text(profile, "links", "avatar", "href")
    claims = nonempty(iss=api, name=name, picture=avatar, full_name=name, avatar_url=avatar)
    return make_user(text(profile, "uuid"), addresses, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    emails = await provider.client.profile(endpoints.emails, tokens.access_token)
    return read_bitbucket(profile, emails, endpoints.user.removesuffix("/user"))
