"""Keycloak: a realm of one's own. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import openid_person
from workers.auth.federation.social.protocol import Grant, ProviderUser


def keycloak(client: Client) -> OAuth2:
    """Make the provider of the realm that `url` names."""
    realm = f"{client.url}/protocol/openid-connect"
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{realm}/auth", token=f"{realm}/token", user=f"{realm}/userinfo"),
        scopes=("profile", "email"),
        uses_pkce=True,
        issuer=client.url,
        signers=(Signer(client.url),),
    )


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    profile = await provider.client.profile(provider.endpoints.user, grant.access_token)
    return openid_person({"iss": provider.client.url, **profile})
