"""Clients that register themselves (RFC 7591). A client's id is its sealed registration, so nothing is stored of a request without a caller.

Only public clients with PKCE are taken: a program on the user's machine cannot keep a secret. An address of redirection is `https`, `http` on
loopback (RFC 8252, 7.3: the port is free), or of a scheme of the program's own; schemes that run in a browser are rejected.
"""

import binascii
import re
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from workers.management.interface.identity.secrets import CannotUnseal, Sealer
from workers.management.interface.oauth.errors import OAuthRejected

_OWNER = "client of oauth"
_PREFIX = "hwc_"
_MOST_URIS = 10
_MOST_BYTES = 1500
_MOST_ID = 4 * _MOST_BYTES
_MOST_NAME = 100
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_OWN_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{2,49}")
_RUN_BY_BROWSERS = frozenset(
    {
        "javascript",
        "vbscript",
        "data",
        "blob",
        "file",
        "filesystem",
        "about",
        "view-source",
        "http",
        "ftp",
        "ws",
        "wss",
    }
)
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\uffff\\<>\"^`{|}]")


class AgentClient(Struct, frozen=True):
    """A registered client. `name` is what it calls itself: nothing proves it."""

    name: str
    redirect_uris: list[str]
    site: str = ""
    """The host whose document describes the client (`client_documents.py`); empty for one that registered itself."""

    def allows(self, uri: str) -> bool:
        """Return whether a request may name an address of redirection: one that was registered, on loopback with any port."""
        return _is_safe(uri) and any(
            _without_port(uri) == _without_port(known) for known in self.redirect_uris
        )


def register(sealer: Sealer, body: bytes) -> dict[str, Any]:
    """Return the answer to a registration. Raises: OAuthRejected (400)."""
    try:
        members = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise OAuthRejected("invalid_client_metadata", "The body must be a JSON object") from None
    client = client_of_members(members)
    text = msgspec.json.encode(client)
    if len(text) > _MOST_BYTES:
        raise OAuthRejected(
            "invalid_client_metadata", f"Name and addresses have at most {_MOST_BYTES} bytes together"
        )
    return {
        "client_id": _PREFIX + _as_url(sealer.seal(text.decode(), _OWNER)),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }


def client_of_members(members: dict[str, Any]) -> AgentClient:
    """Return the client that the members of its metadata describe. Raises: OAuthRejected (400)."""
    uris, name = members.get("redirect_uris"), members.get("client_name", "")
    if not isinstance(uris, list) or not 1 <= len(uris) <= _MOST_URIS:
        raise OAuthRejected("invalid_redirect_uri", f"`redirect_uris` must have 1 to {_MOST_URIS} addresses")
    if bad := [uri for uri in uris if not isinstance(uri, str) or not _is_safe(uri)]:
        raise OAuthRejected(
            "invalid_redirect_uri",
            f"{str(bad[0])[:200]} is not taken: an address is https, http on loopback, or of a scheme of the program's own, without a fragment",
        )
    if members.get("token_endpoint_auth_method", "none") != "none":
        raise OAuthRejected(
            "invalid_client_metadata",
            "`token_endpoint_auth_method` must be none: clients have no secret, but PKCE",
        )
    shown = "".join(character for character in str(name) if character.isprintable()).strip()[:_MOST_NAME]
    return AgentClient(shown or "A program without a name", uris)


def client_of(sealer: Sealer, client_id: str) -> AgentClient:
    """Return the client of an id. Raises: OAuthRejected (401)."""
    try:
        if not client_id.startswith(_PREFIX) or len(client_id) > _MOST_ID:
            raise CannotUnseal
        sealed = b64encode(urlsafe_b64decode(client_id.removeprefix(_PREFIX) + "==")).decode()
        return msgspec.json.decode(sealer.unseal(sealed, _OWNER), type=AgentClient)
    except (CannotUnseal, msgspec.MsgspecError, binascii.Error, ValueError):
        raise OAuthRejected(
            "invalid_client",
            "This client is not known here: register again at the `registration_endpoint`",
            401,
        ) from None


def _is_safe(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return False
    if len(uri) > 500 or _UNSAFE.search(uri) or "#" in uri or "@" in parts.netloc:
        return False
    if parts.scheme == "https":
        return bool(host)
    if parts.scheme == "http":
        return host in _LOOPBACK
    return (
        _OWN_SCHEME.fullmatch(parts.scheme) is not None
        and parts.scheme not in _RUN_BY_BROWSERS
        and "://" in uri
    )


def _without_port(uri: str) -> str:
    """Return an address; one on loopback without its port."""
    parts = urlsplit(uri)
    if parts.scheme != "http" or parts.hostname not in _LOOPBACK:
        return uri
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return parts._replace(netloc=host or "").geturl()


def _as_url(text: str) -> str:
    """Return standard base64 in the alphabet of addresses, without padding."""
    return urlsafe_b64encode(binascii.a2b_base64(text)).decode().rstrip("=")
