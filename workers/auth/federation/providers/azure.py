"""Microsoft Entra (Azure): OpenID Connect of many tenants. Source: docs/reference/auth.md, section 26.1.

The base URL names a tenant: `common` (all tenants), a single one, or a customer directory (`*.ciamlogin.com`). The tenant's
discovery document has the issuer of its tokens; in that of `common` it is a pattern with the tenant of the token.
"""

import re

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import Document, flag, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

COMMON = "https://login.microsoftonline.com/common"
ISSUERS = "https://login.microsoftonline.com/"
"""The prefix of the issuers of all tenants."""
_CUSTOMERS = re.compile(r"https://[A-Za-z0-9-]+\.ciamlogin\.com/[A-Za-z0-9.-]+/v2\.0")
_OTHER_CLAIMS = frozenset(
    ("aud", "iss", "iat", "nbf", "exp", "c_hash", "at_hash", "aio", "nonce", "rh", "uti", "jti", "ver", "sub", "name",
     "preferred_username")
)  # fmt: skip
"""Claims about the token, or stored elsewhere: not custom claims."""


def azure(client: ProviderClient) -> OAuth2:
    """Return the provider; `url` names the tenant."""
    tenant = client.host(COMMON)
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{tenant}/oauth2/v2.0/authorize", token=f"{tenant}/oauth2/v2.0/token"),
        scopes=("openid",),
        uses_pkce=True,
        signers=(IdTokenSigner(f"{tenant}/v2.0", is_named_by_document=True),),
    )


def azure_signers(client: ProviderClient, named: str) -> tuple[IdTokenSigner, ...]:
    """Return the signers of a token that names an issuer: the tenant of the settings.

    If the settings name no tenant, a customer directory is its own issuer.
    """
    if not client.url and _CUSTOMERS.fullmatch(named):
        return (IdTokenSigner(named),)
    return azure(client).signers


def read_azure(claims: Document) -> ProviderUser:
    """Read an ID token. The address counts as verified unless the claim `xms_edov` is false (domain not owned by the tenant)."""
    is_verified = "xms_edov" not in claims or flag(claims, "xms_edov")
    name = text(claims, "name")
    user_claims = nonempty(
        iss=text(claims, "iss"),
        name=name,
        preferred_username=text(claims, "preferred_username"),
        full_name=name,
        custom_claims={key: value for key, value in claims.items() if key not in _OTHER_CLAIMS},
    )
    return make_user(
        text(claims, "sub"), single_email(text(claims, "email"), is_verified=is_verified), user_claims
    )


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    return read_azure(await provider.id_claims(tokens.id_token, tokens.access_token))
