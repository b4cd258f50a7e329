"""Zoom. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, Login, OAuth2
from workers.auth.federation.providers.profile import Document, flag, joined, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

_BY_PASSWORD = "100"  # noqa: S105 - the number of a way to sign in


def zoom(client: Client) -> OAuth2:
    """Make the provider. Scopes are chosen where the client is registered."""
    host, api = client.host("https://zoom.us"), client.host("https://api.zoom.us")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/oauth/authorize", token=f"{host}/oauth/token", user=f"{api}/v2/users/me"
        ),
        login=Login.BASIC,
    )


def read_zoom(profile: Document, issuer: str) -> ProviderUser:
    """Read a user. Who signs in with a password may not have confirmed the address; others sign in by its owner."""
    given, family = text(profile, "first_name"), text(profile, "last_name")
    name, picture = joined(given, family), text(profile, "pic_url")
    claims = known(
        iss=issuer,
        name=name,
        given_name=given,
        family_name=family,
        picture=picture,
        full_name=name,
        avatar_url=picture,
    )
    is_verified = text(profile, "login_type") != _BY_PASSWORD or flag(profile, "verified")
    emails = one_email(text(profile, "email"), is_verified=is_verified)
    return person(text(profile, "id"), emails, claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    return read_zoom(profile, places.user.removesuffix("/v2/users/me"))
