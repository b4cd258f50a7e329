"""Snapchat, by the browser and by ID token. Source: docs/reference/auth.md, section 26.2."""

from urllib.parse import urlencode

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import (
    Document,
    make_user,
    member,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

ISSUER = "https://accounts.snapchat.com/accounts/oauth2/token"
SIGNERS = (IdTokenSigner(ISSUER, aliases=("https://accounts.snapchat.com",)),)
_SCOPE = "https://auth.snapchat.com/oauth2/api/user."
_QUERY = urlencode({"query": "{me{externalId displayName bitmoji{avatar id} email}}"})


def snapchat(client: ProviderClient) -> OAuth2:
    """Return the provider."""
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
    """Read the answer of a query; it rarely has an address."""
    user = member(profile, "data", "me")
    name, picture = text(user, "displayName"), text(user, "bitmoji", "avatar")
    claims = nonempty(iss=ISSUER, name=name, picture=picture, full_name=name, avatar_url=picture, slug=name)
    emails = single_email(text(user, "email"), is_verified=True)
    return make_user(text(user, "externalId"), emails, claims)


def read_snapchat_token(claims: Document) -> ProviderUser:
    """Read an ID token, which has confirmed addresses only."""
    name, picture = text(claims, "name"), text(claims, "picture")
    user_claims = nonempty(
        iss=text(claims, "iss"), name=name, picture=picture, full_name=name, avatar_url=picture
    )
    return make_user(text(claims, "sub"), single_email(text(claims, "email"), is_verified=True), user_claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    address = f"{provider.endpoints.user}?{_QUERY}"
    return read_snapchat(await provider.client.profile(address, tokens.access_token))
