"""GitLab, gitlab.com or self-hosted. Source: docs/reference/auth.md, section 26.1."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, make_user, nonempty, text
from workers.auth.federation.social.protocol import ProviderEmail, ProviderTokenResponse, ProviderUser


def gitlab(client: ProviderClient) -> OAuth2:
    """Return the provider."""
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
    """Read a user and the list of further addresses, which count as unverified."""
    main = text(profile, "email")
    others = [text(email, "email") for email in emails]
    addresses = (
        ProviderEmail(main, bool(text(profile, "confirmed_at")), is_primary=True),
        *(ProviderEmail(address) for address in others if address != main),
    )
    name, avatar = text(profile, "name"), text(profile, "avatar_url")
    claims = nonempty(
        iss=host,
        name=name,
        preferred_username=text(profile, "username"),
        picture=avatar,
        full_name=name,
        avatar_url=avatar,
        user_name=text(profile, "username"),
    )
    return make_user(text(profile, "id"), addresses, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    emails = await provider.client.profiles(endpoints.emails, tokens.access_token)
    return read_gitlab(profile, emails, endpoints.user.removesuffix("/api/v4/user"))
