"""ID tokens: a signed statement to a client about the user who signed in. Pure.

Clients verify them with the project's public keys. So no ID tokens are issued while access tokens are signed with a shared
secret. Source: docs/reference/auth.md, section 15; OpenID Connect Core, 2, 3.1.3.6 and 12.2.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from schemas.keys.signing import SigningKey, sign
from workers.auth.federation.oauth_server.scopes import OPENID, claims_of
from workers.auth.model.rows import AuthUser

LIFETIME_S = 3600


def algorithms(key: SigningKey) -> list[str]:
    """Return the algorithms of ID tokens; empty with a shared secret."""
    return [] if key.algorithm.startswith("HS") else [key.algorithm]


def id_token(
    user: AuthUser,
    client_id: UUID,
    scopes: Sequence[str],
    key: SigningKey,
    *,
    issuer: str,
    issued_at: int,
    auth_time: datetime | None = None,
    nonce: str = "",
) -> str | None:
    """Sign an ID token; None without the scope `openid`, or with a shared secret.

    `auth_time` and `nonce` belong to the first token of a session only.
    """
    if OPENID not in scopes or not algorithms(key):
        return None
    claims: dict[str, object] = {
        "iss": issuer,
        "sub": str(user.id),
        "aud": str(client_id),
        "exp": issued_at + LIFETIME_S,
        "iat": issued_at,
        "client_id": str(client_id),
    }
    if auth_time is not None:
        claims["auth_time"] = int(auth_time.timestamp())
    if nonce:
        claims["nonce"] = nonce
    return sign(claims | claims_of(user, scopes), key)
