"""Snapchat, by the browser and by ID token. Source: reference page "auth", section 26.2."""

from urllib.parse import urlencode

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import Document, known, member, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

ISSUER = "https://accounts.snapchat.com/accounts/oauth2/token"
SIGNERS = (Signer(ISSUER, aliases=("https://accounts.snapchat.com",)),)
_SCOPE = "https://auth.snapchat.com/oauth2/api/user."
_WANTED = urlencode({"query": "{me{externalId displayName bitmoji{avatar id} email}}"})


def snapchat(client: Client) -> OAuth2:
    """Make the provider."""
    host, api = client.host("https://accounts.snapchat.com"), client.host("https://kit.snapchat.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/accounts/oauth2/auth",
            token=f"{host}/accounts/oauth2/token",
            user=f"{api}/v1/me",
        ),
        scopes=(f"{_SCOPE}external_id", f"{_SCOPE}display_name", f"{_SCOPE}bitmoji.avatar"),
    )


def read_snapchat(profile: Document) -> ProviderUser:
    """Read the answer of a query; most users have no address there."""
    user = member(profile, "data", "me")
    name, picture = text(user, "displayName"), text(user, "bitmoji", "avatar")
    claims = known(iss=ISSUER, name=name, picture=picture, full_name=name, avatar_url=picture, slug=name)
    emails = one_email(text(user, "email"), is_verified=True)
    return person(text(user, "externalId"), emails, claims)


def read_snapchat_token(claims: Document) -> ProviderUser:
    """Read an ID token, which holds confirmed addresses only."""
    name, picture = text(claims, "name"), text(claims, "picture")
    shown = known(iss=text(claims, "iss"), name=name, picture=picture, full_name=name, avatar_url=picture)
    return person(text(claims, "sub"), one_email(text(claims, "email"), is_verified=True), shown)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    address = f"{provider.endpoints.user}?{_WANTED}"
    return read_snapchat(await provider.client.profile(address, grant.access_token))
