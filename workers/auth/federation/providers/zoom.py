"""Zoom. Source: docs/reference/auth.md, section 26.2."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import ClientAuthentication, Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import (
    Document,
    flag,
    join_names,
    make_user,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

_BY_PASSWORD = "100"  # noqa: S105 - the number of a login type


def zoom(client: ProviderClient) -> OAuth2:
    """Return the provider. Scopes are set in the registration of the client."""
    host, api = client.host("https://zoom.us"), client.host("https://api.zoom.us")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/oauth/authorize", token=f"{host}/oauth/token", user=f"{api}/v2/users/me"
        ),
        login=ClientAuthentication.BASIC,
    )


def read_zoom(profile: Document, issuer: str) -> ProviderUser:
    """Read a user. With a password the address is verified only if Zoom marks it so; other logins verify it."""
    given_name, family_name = text(profile, "first_name"), text(profile, "last_name")
    name, picture = join_names(given_name, family_name), text(profile, "pic_url")
    claims = nonempty(
        iss=issuer,
        name=name,
        given_name=given_name,
        family_name=family_name,
        picture=picture,
        full_name=name,
        avatar_url=picture,
    )
    is_verified = text(profile, "login_type") != _BY_PASSWORD or flag(profile, "verified")
    emails = single_email(text(profile, "email"), is_verified=is_verified)
    return make_user(text(profile, "id"), emails, claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    return read_zoom(profile, endpoints.user.removesuffix("/v2/users/me"))
