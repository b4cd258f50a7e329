"""Microsoft Entra (Azure): OpenID Connect of many tenants. Source: reference page "auth", section 26.1.

The place is a tenant: `common` (everybody), one of one's own, or one of a customer directory (`*.ciamlogin.com`). A
tenant's document says which issuer its tokens name; that of `common` leaves a gap for the tenant of the token.
"""

import re

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import Document, flag, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

COMMON = "https://login.microsoftonline.com/common"
ISSUERS = "https://login.microsoftonline.com/"
"""How the issuers of all tenants begin."""
_CUSTOMERS = re.compile(r"https://[A-Za-z0-9-]+\.ciamlogin\.com/[A-Za-z0-9.-]+/v2\.0")
_OWN = frozenset(
    ("aud", "iss", "iat", "nbf", "exp", "c_hash", "at_hash", "aio", "nonce", "rh", "uti", "jti", "ver", "sub", "name",
     "preferred_username")
)  # fmt: skip
"""Claims that are the token's, or stand elsewhere."""


def azure(client: Client) -> OAuth2:
    """Make the provider; `url` names the tenant."""
    tenant = client.host(COMMON)
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{tenant}/oauth2/v2.0/authorize", token=f"{tenant}/oauth2/v2.0/token"),
        scopes=("openid",),
        uses_pkce=True,
        signers=(Signer(f"{tenant}/v2.0", is_named_by_document=True),),
    )


def azure_signers(client: Client, named: str) -> tuple[Signer, ...]:
    """Give who may have signed a token that names an issuer: the tenant of the settings.

    Where they name none, customer directories sign for themselves.
    """
    if not client.url and _CUSTOMERS.fullmatch(named):
        return (Signer(named),)
    return azure(client).signers


def read_azure(claims: Document) -> ProviderUser:
    """Read an ID token. The address counts as verified unless the tenant says that its domain is not its own."""
    is_verified = "xms_edov" not in claims or flag(claims, "xms_edov")
    name = text(claims, "name")
    shown = known(
        iss=text(claims, "iss"),
        name=name,
        preferred_username=text(claims, "preferred_username"),
        full_name=name,
        custom_claims={key: value for key, value in claims.items() if key not in _OWN},
    )
    return person(text(claims, "sub"), one_email(text(claims, "email"), is_verified=is_verified), shown)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    return read_azure(await provider.id_claims(grant.id_token, grant.access_token))
