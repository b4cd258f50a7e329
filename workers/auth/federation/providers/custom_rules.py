"""Checks custom providers before they are stored. Pure, except for the DNS look-up of hosts.

Source: docs/reference/auth.md, section 26.3; OpenID Connect Discovery 1.0, 3 and 4.3.
"""

import asyncio
import re
import socket
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from workers.auth.federation.providers.profile import Document, items, nonempty, text
from workers.auth.federation.social.protocol import RESERVED_PARAMETERS, ProviderError
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.http_client.address_guard import is_public
from workers.http_client.client import FetchFailed, reject_private_address

TYPES = ("oauth2", "oidc")
NOT_MAPPED = frozenset(
    ("id", "aud", "role", "app_metadata", "created_at", "updated_at", "deleted_at", "invited_at", "last_sign_in_at",
     "confirmed_at", "email_confirmed_at", "phone_confirmed_at", "email_verified", "phone_verified", "banned_until",
     "is_super_admin", "is_anonymous", "is_sso_user", "provider_id")
)  # fmt: skip
"""Claims that a mapping cannot set."""
_IDENTIFIER = re.compile(r"custom:[a-z0-9:-]{0,42}[a-z0-9]")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")
_NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
PUBLISHED = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
"""The URLs of a discovery document that we or browsers use."""
_STORED = (*_NEEDED, "userinfo_endpoint", "revocation_endpoint")
_LISTS = {
    "supported_scopes": "scopes_supported",
    "supported_response_types": "response_types_supported",
    "supported_subject_types": "subject_types_supported",
    "supported_id_token_signing_algs": "id_token_signing_alg_values_supported",
}
"""Lists of a discovery document, by the names in our JSON."""
_MOST_LISTED = 256
_MOST_LENGTH = 2048
_LOOK_UP_S = 5.0


def validation_error(message: str) -> AuthError:
    """Return the error for an invalid value."""
    return AuthError(ErrorCode.VALIDATION_FAILED, message)


def check_identifier(identifier: str) -> None:
    """Check the name of a provider. Raises: AuthError."""
    if not _IDENTIFIER.fullmatch(identifier):
        raise validation_error(
            "identifier must be custom: and a name of small letters, digits, - and :, 50 signs in all at most"
        )


def check_texts(name: str, texts: Iterable[str], *, most: int = 64) -> None:
    """Check the number of texts in a list, and each of them. Raises: AuthError."""
    listed = list(texts)
    if len(listed) > most or any(not text or len(text) > _MOST_LENGTH or "\0" in text for text in listed):
        raise validation_error(f"{name} takes {most} texts at most, none of them empty")


def check_scopes(scopes: Iterable[str]) -> None:
    """Check the characters of scopes. Source: RFC 6749, 3.3. Raises: AuthError."""
    if not all(_SCOPE.fullmatch(scope) for scope in scopes):
        raise validation_error("scopes must be single words")


def check_parameters(parameters: Mapping[str, str]) -> None:
    """Check that no extra parameter of the authorization request is reserved. Raises: AuthError."""
    check_texts("authorization_params", parameters)
    reserved = sorted(name for name in parameters if name.strip().lower() in RESERVED_PARAMETERS)
    if reserved:
        raise validation_error(f"authorization_params cannot set {', '.join(reserved)}")


def check_mapping(mapping: Mapping[str, object]) -> dict[str, str]:
    """Return a checked mapping of our claim names to theirs. Raises: AuthError if it sets a forbidden claim."""
    named = {ours: theirs for ours, theirs in mapping.items() if isinstance(theirs, str)}
    if len(named) < len(mapping):
        raise validation_error("attribute_mapping takes names of claims")
    check_texts("attribute_mapping", [*named, *named.values()], most=128)
    reserved = sorted(name for name in named if name.strip().lower() in NOT_MAPPED)
    if reserved:
        raise validation_error(f"attribute_mapping cannot set {', '.join(reserved)}")
    return named


def check_https(name: str, url: str) -> None:
    """Check that a URL is https. Raises: AuthError."""
    if not is_https(url):
        raise validation_error(f"{name} must be an https URL")


def is_https(url: str) -> bool:
    """Return whether a URL is https, without characters that parsers read in different ways."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and not set(url) & set(' \\"<>^`{|}')
    is_whole = bool(parts.hostname) and parts.username is None and not parts.fragment
    return url.startswith("https://") and is_plain and is_whole and len(url) <= _MOST_LENGTH


async def check_public(name: str, url: str) -> None:
    """Check that the host of a URL is public and resolves to public addresses only. Raises: AuthError.

    DNS may change later, so the HTTP client checks the address again at every connection.
    """
    host = urlsplit(url).hostname or ""
    try:
        reject_private_address(url)
        async with asyncio.timeout(_LOOK_UP_S):
            addresses = await asyncio.get_running_loop().getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except FetchFailed:
        raise validation_error(f"{name} must not point to a private address") from None
    except (OSError, UnicodeError, TimeoutError):
        raise validation_error(f"The host of {name} cannot be found") from None
    if not all(is_public(str(address[0])) for *_, address in addresses):
        raise validation_error(f"{name} must not point to a private address")


def refuse_bad_discovery(document: Document, issuer: str) -> None:
    """Check that a discovery document is complete and belongs to the issuer. Raises: ProviderError."""
    missing = [name for name in _NEEDED if not text(document, name)]
    if missing:
        raise ProviderError(f"The discovery document has no {', '.join(missing)}")
    if text(document, "issuer") != issuer:
        raise ProviderError("The discovery document names another issuer")
    unsafe = [name for name in PUBLISHED if text(document, name) and not is_https(text(document, name))]
    if unsafe:
        raise ProviderError(f"The discovery document has no https URL as {', '.join(unsafe)}")


def select_discovery(document: Document) -> dict[str, object]:
    """Return the part of a discovery document that is stored."""
    lists = {
        ours: [str(item) for item in items(document, theirs)[:_MOST_LISTED]]
        for ours, theirs in _LISTS.items()
    }
    return nonempty(**{name: text(document, name) for name in _STORED}, **lists)
