"""ID tokens: what a client is told of who signed in. Pure.

Clients verify them with the public keys of the project, so there are none while access tokens are signed with a shared
secret. Source: reference page "auth", section 15; OpenID Connect Core, 2, 3.1.3.6 and 12.2.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from schemas.keys.signing import SigningKey, sign
from workers.auth.federation.oauth_server.scopes import OPENID, claims_of
from workers.auth.model.rows import User

LIFETIME_S = 3600


def algorithms(key: SigningKey) -> list[str]:
    """List how ID tokens are signed; nothing where there can be none."""
    return [] if key.algorithm.startswith("HS") else [key.algorithm]


def id_token(
    user: User,
    client_id: UUID,
    scopes: Sequence[str],
    key: SigningKey,
    *,
    issuer: str,
    issued_at: int,
    auth_time: datetime | None = None,
    nonce: str = "",
) -> str | None:
    """Sign an ID token; None if the client did not ask for one, or the key cannot sign any.

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
