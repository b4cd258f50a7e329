"""Which client calls the token endpoint, and whether it is the one. The database is asked for the row only.

A client shows itself in the one way it is registered for: its secret in the `Authorization` header, or in the body, or
no secret at all. Nothing else will do, right secret or not, and every failure reads the same.
Source: reference page "auth", section 15; RFC 6749, 2.3 and 5.2.
"""

import base64
import binascii
import hmac
from dataclasses import dataclass, field
from urllib.parse import unquote_plus
from uuid import UUID

from workers.auth.accounts.codes.codes import hashed_token
from workers.auth.federation.oauth_server import clients
from workers.auth.federation.oauth_server.clients import Client
from workers.auth.model.errors import OAuthError
from workers.database.interactive import Transaction

_NOBODY = hashed_token("")


@dataclass(frozen=True, slots=True)
class Presented:
    """What a client shows of itself; `id` is None if it is no id that clients have."""

    id: UUID | None
    method: str
    secret: str = field(default="", repr=False)


def presented(authorization: str | None, client_id: str, client_secret: str) -> Presented:
    """Read who a client says to be, from the header and the fields of the body.

    Raises: OAuthError (400) if it says nothing, or shows itself in two ways.
    """
    scheme, _, encoded = (authorization or "").strip().partition(" ")
    if scheme.lower() != "basic":  # a bearer here is the API key's
        if not client_id:
            raise OAuthError("invalid_request", "client_id is required")
        return Presented(_uuid(client_id), "client_secret_post" if client_secret else "none", client_secret)
    id, secret = _basic(encoded.strip())
    if client_secret:
        raise OAuthError("invalid_request", "the client must authenticate in one way only")
    if client_id and client_id != id:
        raise OAuthError("invalid_request", "client_id is not that of the Authorization header")
    return Presented(_uuid(id), "client_secret_basic", secret)


def is_right(client: Client | None, shown: Presented) -> bool:
    """Tell whether a client is the one, in constant time, and shows it in the way it is registered for."""
    kept = client.client_secret_hash if client else None
    matches = hmac.compare_digest(hashed_token(shown.secret), kept or _NOBODY)
    if client is None or client.token_endpoint_auth_method != shown.method:
        return False
    if shown.method == "none":
        return not shown.secret
    return matches and bool(kept) and bool(shown.secret)


async def authenticate(transaction: Transaction, shown: Presented) -> Client:
    """Give the client that calls. Raises: OAuthError (400) `invalid_client`."""
    client = await clients.find(transaction, shown.id) if shown.id else None
    if client is None or not is_right(client, shown):
        is_right(None, shown)
        raise OAuthError("invalid_client", "Client authentication failed")
    return client


def _basic(encoded: str) -> tuple[str, str]:
    """Read id and secret, which are form-encoded before they are joined (RFC 6749, 2.3.1)."""
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        raise OAuthError("invalid_request", "the Authorization header cannot be read") from None
    id, _, secret = text.partition(":")
    return unquote_plus(id), unquote_plus(secret)


def _uuid(text: str) -> UUID | None:
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text.lower() else None
