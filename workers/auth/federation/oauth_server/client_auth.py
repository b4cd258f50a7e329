"""Client authentication at the token endpoint.

A client must authenticate by the method it is registered for: its secret in the `Authorization` header, in the body, or no
secret. Any other method fails even with the right secret, and every failure is the same error, after the same time: neither
may reveal whether a client exists.
Source: docs/reference/auth.md, section 15; RFC 6749, 2.3 and 5.2.
"""

import base64
import binascii
import hmac
from dataclasses import dataclass, field
from urllib.parse import unquote_plus
from uuid import UUID

from workers.auth.federation.oauth_server import clients
from workers.auth.federation.oauth_server.clients import OAuthClient
from workers.auth.model.codes import hash_token
from workers.auth.model.errors import OAuthError
from workers.database.transactions.interactive import Transaction

_NO_HASH = hash_token("")


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """The credentials of a request; `id` is None if the text is not a UUID."""

    id: UUID | None
    method: str
    secret: str = field(default="", repr=False)


def read_credentials(authorization: str | None, client_id: str, client_secret: str) -> ClientCredentials:
    """Read the client's credentials from the `Authorization` header and the fields of the body.

    Raises: OAuthError (400) without a client id, or if the client uses two methods.
    """
    scheme, _, encoded = (authorization or "").strip().partition(" ")
    if scheme.lower() != "basic":  # a bearer token here is the API key
        if not client_id:
            raise OAuthError("invalid_request", "client_id is required")
        return ClientCredentials(
            _uuid(client_id), "client_secret_post" if client_secret else "none", client_secret
        )
    id, secret = _basic(encoded.strip())
    if client_secret:
        raise OAuthError("invalid_request", "the client must authenticate in one way only")
    if client_id and client_id != id:
        raise OAuthError("invalid_request", "client_id is not that of the Authorization header")
    return ClientCredentials(_uuid(id), "client_secret_basic", secret)


def is_authentic(client: OAuthClient | None, credentials: ClientCredentials) -> bool:
    """Return whether the secret is right (compared in constant time) and sent by the registered method."""
    stored_hash = client.client_secret_hash if client else None
    matches = hmac.compare_digest(hash_token(credentials.secret), stored_hash or _NO_HASH)
    if client is None or client.token_endpoint_auth_method != credentials.method:
        return False
    if credentials.method == "none":
        return not credentials.secret
    return matches and bool(stored_hash) and bool(credentials.secret)


async def authenticate(transaction: Transaction, credentials: ClientCredentials) -> OAuthClient:
    """Return the client of a request. Raises: OAuthError (400) `invalid_client`."""
    client = await clients.find(transaction, credentials.id) if credentials.id else None
    if client is None or not is_authentic(client, credentials):
        is_authentic(None, credentials)
        raise OAuthError("invalid_client", "Client authentication failed")
    return client


def _basic(encoded: str) -> tuple[str, str]:
    """Decode id and secret, each of which is form-encoded (RFC 6749, 2.3.1)."""
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        raise OAuthError("invalid_request", "the Authorization header cannot be read") from None
    id, _, secret = text.partition(":")
    return unquote_plus(id), unquote_plus(secret)


def _uuid(text: str) -> UUID | None:
    try:
        id = UUID(text)
    except ValueError:
        return None
    return id if str(id) == text.lower() else None
