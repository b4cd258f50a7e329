"""Keycloak: one realm of a self-hosted server. Source: docs/reference/auth.md, section 26.2."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import read_openid_user
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser


def keycloak(client: ProviderClient) -> OAuth2:
    """Return the provider for the realm that `url` names."""
    realm = f"{client.url}/protocol/openid-connect"
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{realm}/auth", token=f"{realm}/token", user=f"{realm}/userinfo"),
        scopes=("profile", "email"),
        uses_pkce=True,
        issuer=client.url,
        signers=(IdTokenSigner(client.url),),
    )


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    profile = await provider.client.profile(provider.endpoints.user, tokens.access_token)
    return read_openid_user({"iss": provider.client.url, **profile})
