"""Clients whose id is the address of a document about them (draft-ietf-oauth-client-id-metadata-document).

The document is read when an administrator looks at the request and again when he decides, never for a request without a caller: so nothing
sent to `/oauth/authorize` makes the platform send requests. It is fetched from public addresses alone, without redirections, and at most
8 KiB of it. The host of the address is what the document proves; the name in it is what the client calls itself.
"""

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient
from workers.management.interface.oauth.clients import AgentClient, client_of_members
from workers.management.interface.oauth.errors import OAuthRejected

_SCHEME = "https://"
_LONGEST = 500
_LONGEST_HOST = 95
_MOST_BYTES = 8 * 1024
_TIMEOUT_S = 5.0
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\uffff\\<>\"^`{|}#]")
_DOT_SEGMENT = re.compile(r"/(\.|%2e){1,2}(/|$)", re.IGNORECASE)
_SECRETS = ("client_secret", "client_secret_expires_at")


def is_document(client_id: str) -> bool:
    """Return whether the id of a client is the address of a document."""
    return client_id.startswith(_SCHEME)


def document_host(client_id: str) -> str:
    """Return the host of a client's document. Raises: OAuthRejected (400) for an address that can be no client's id."""
    try:
        parts = urlsplit(client_id)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    is_plain = len(client_id) <= _LONGEST and not _UNSAFE.search(client_id)
    if (
        not 1 <= len(host) <= _LONGEST_HOST
        or not is_plain
        or "@" in parts.netloc
        or parts.path in ("", "/")
        or _DOT_SEGMENT.search(parts.path)
    ):
        raise OAuthRejected(
            "invalid_client",
            "A `client_id` that is an address must be https, with a path, without dot segments, a fragment, a user or a password, and has at "
            f"most {_LONGEST} characters, {_LONGEST_HOST} of them in its host",
        )
    return host


async def read_client(client_id: str) -> AgentClient:
    """Fetch the document of a client and return the client. Raises: OAuthRejected (400)."""
    document_host(client_id)
    outgoing = HttpClient()
    try:
        response = await outgoing.fetch(
            "GET", client_id, headers={"accept": "application/json"}, timeout_s=_TIMEOUT_S, most_bytes=_MOST_BYTES,
            only_public=True,
        )  # fmt: skip
    except FetchFailed as error:
        raise _unusable(client_id, str(error)) from None
    finally:
        await outgoing.close()
    return client_of_document(client_id, response)


def client_of_document(client_id: str, response: FetchedResponse) -> AgentClient:
    """Return the client that a document describes. Raises: OAuthRejected (400)."""
    if response.status != 200:
        raise _unusable(client_id, f"it answers {response.status}")
    try:
        members = msgspec.json.decode(response.body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise _unusable(client_id, "it is no JSON object") from None
    if members.get("client_id") != client_id:
        raise _unusable(client_id, "its `client_id` is another address")
    if named := [name for name in _SECRETS if name in members]:
        raise _unusable(client_id, f"`{named[0]}` does not belong into a public document")
    client = client_of_members(members)
    return AgentClient(client.name, client.redirect_uris, document_host(client_id))


def _unusable(client_id: str, reason: str) -> OAuthRejected:
    return OAuthRejected("invalid_client", f"The document at {client_id} cannot be used: {reason}")
