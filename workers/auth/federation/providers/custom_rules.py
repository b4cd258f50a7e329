"""The rules of providers that an administrator adds. Pure, but for the look-up of hosts.

Source: reference page "auth", section 26.3; OpenID Connect Discovery 1.0, 3 and 4.3.
"""

import asyncio
import re
import socket
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from workers.auth.federation.providers.profile import Document, items, known, text
from workers.auth.federation.social.protocol import ProviderFailed
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.http_client.address_guard import is_public
from workers.http_client.client import FetchFailed, refuse_private

TYPES = ("oauth2", "oidc")
RESERVED = frozenset(
    ("client_id", "client_secret", "redirect_uri", "response_type", "state", "code_challenge", "code_challenge_method",
     "code_verifier", "request", "request_uri")
)  # fmt: skip
"""Parameters of an authorization request that are ours to set; the last two would carry all others with them."""
NOT_MAPPED = frozenset(
    ("id", "aud", "role", "app_metadata", "created_at", "updated_at", "deleted_at", "invited_at", "last_sign_in_at",
     "confirmed_at", "email_confirmed_at", "phone_confirmed_at", "email_verified", "phone_verified", "banned_until",
     "is_super_admin", "is_anonymous", "is_sso_user", "provider_id")
)  # fmt: skip
"""What no claim of a provider may stand for."""
_IDENTIFIER = re.compile(r"custom:[a-z0-9:-]{0,42}[a-z0-9]")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")
_NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
PUBLISHED = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
"""Addresses in a discovery document that we, or browsers, go to."""
_KEPT = (*_NEEDED, "userinfo_endpoint", "revocation_endpoint")
_LISTS = {
    "supported_scopes": "scopes_supported",
    "supported_response_types": "response_types_supported",
    "supported_subject_types": "subject_types_supported",
    "supported_id_token_signing_algs": "id_token_signing_alg_values_supported",
}
"""Lists of a discovery document, by the names that official clients read."""
_MOST_LISTED = 256
_MOST_LENGTH = 2048
_LOOK_UP_S = 5.0


def refused(message: str) -> AuthError:
    """Give the refusal of a value."""
    return AuthError(Code.VALIDATION_FAILED, message)


def check_identifier(identifier: str) -> None:
    """Raise if a name is none. Raises: AuthError."""
    if not _IDENTIFIER.fullmatch(identifier):
        raise refused(
            "identifier must be custom: and a name of small letters, digits, - and :, 50 signs in all at most"
        )


def check_texts(name: str, texts: Iterable[str], *, most: int = 64) -> None:
    """Raise if a list has too many or unfit texts. Raises: AuthError."""
    listed = list(texts)
    if len(listed) > most or any(not each or len(each) > _MOST_LENGTH or "\0" in each for each in listed):
        raise refused(f"{name} takes {most} texts at most, none of them empty")


def check_scopes(scopes: Iterable[str]) -> None:
    """Raise if a scope cannot be sent. Source: RFC 6749, 3.3. Raises: AuthError."""
    if not all(_SCOPE.fullmatch(each) for each in scopes):
        raise refused("scopes must be single words")


def check_parameters(parameters: Mapping[str, str]) -> None:
    """Raise if parameters of the authorization request are ours. Raises: AuthError."""
    check_texts("authorization_params", parameters)
    taken = sorted(name for name in parameters if name.strip().lower() in RESERVED)
    if taken:
        raise refused(f"authorization_params cannot set {', '.join(taken)}")


def check_mapping(mapping: Mapping[str, object]) -> dict[str, str]:
    """Give a mapping of claims of ours to claims of theirs. Raises: AuthError if it is none, or names what no claim may
    stand for.
    """
    named = {ours: theirs for ours, theirs in mapping.items() if isinstance(theirs, str)}
    if len(named) < len(mapping):
        raise refused("attribute_mapping takes names of claims")
    check_texts("attribute_mapping", [*named, *named.values()], most=128)
    taken = sorted(name for name in named if name.strip().lower() in NOT_MAPPED)
    if taken:
        raise refused(f"attribute_mapping cannot set {', '.join(taken)}")
    return named


def check_https(name: str, url: str) -> None:
    """Raise if an address is none of HTTPS. Raises: AuthError."""
    if not is_https(url):
        raise refused(f"{name} must be an https URL")


def is_https(url: str) -> bool:
    """Tell whether an address is one of HTTPS that can be read in one way only."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and not set(url) & set(' \\"<>^`{|}')
    is_whole = bool(parts.hostname) and parts.username is None and not parts.fragment
    return url.startswith("https://") and is_plain and is_whole and len(url) <= _MOST_LENGTH


async def check_public(name: str, url: str) -> None:
    """Raise if the host of an address is, or resolves to, a private one. Raises: AuthError.

    What it resolves to is looked at again whenever it is connected to.
    """
    host = urlsplit(url).hostname or ""
    try:
        refuse_private(url)
        async with asyncio.timeout(_LOOK_UP_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except FetchFailed:
        raise refused(f"{name} must not point to a private address") from None
    except (OSError, UnicodeError, TimeoutError):
        raise refused(f"The host of {name} cannot be found") from None
    if not all(is_public(str(address[0])) for *_, address in found):
        raise refused(f"{name} must not point to a private address")


def refuse_bad_discovery(document: Document, issuer: str) -> None:
    """Raise if an issuer's description lacks something, or is another's. Raises: ProviderFailed."""
    missing = [name for name in _NEEDED if not text(document, name)]
    if missing:
        raise ProviderFailed(f"The discovery document has no {', '.join(missing)}")
    if text(document, "issuer") != issuer:
        raise ProviderFailed("The discovery document names another issuer")
    unsafe = [name for name in PUBLISHED if text(document, name) and not is_https(text(document, name))]
    if unsafe:
        raise ProviderFailed(f"The discovery document has no https URL as {', '.join(unsafe)}")


def kept_discovery(document: Document) -> dict[str, object]:
    """Give what is kept and shown of a discovery document."""
    lists = {
        ours: [str(each) for each in items(document, theirs)[:_MOST_LISTED]]
        for ours, theirs in _LISTS.items()
    }
    return known(**{name: text(document, name) for name in _KEPT}, **lists)
