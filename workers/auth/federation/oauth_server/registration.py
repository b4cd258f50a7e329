"""Checks the data with which a client is registered or changed. Pure.

A confidential client has a secret, and registers how it sends it to the token endpoint; a public client (on a device, in a
browser) cannot keep a secret, so it gets none. Source: docs/reference/auth.md, section 15; RFC 7591, 2 and 3.2.2; RFC 8252, 7 and 8.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from workers.auth.model.errors import OAuthError
from workers.auth.model.redirects.schemes import is_active, is_private_use

METHODS = ("client_secret_basic", "client_secret_post", "none")
GRANT_TYPES = ("authorization_code", "refresh_token")
RESPONSE_TYPES = ("code",)

_MOST_URIS, _LONGEST_URI, _LONGEST_NAME = 10, 2048, 1024
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.+)")
_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?|[0-9a-f:.]+")
_LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")


class ClientBody(msgspec.Struct):
    """The request body of a registration. None means absent; an empty text removes a value."""

    redirect_uris: list[str] | None = None
    client_type: str | None = None
    token_endpoint_auth_method: str | None = None
    grant_types: list[str] | None = None
    response_types: list[str] | None = None
    client_name: str | None = None
    client_uri: str | None = None
    logo_uri: str | None = None


@dataclass(frozen=True, slots=True)
class Registration:
    """The checked data of a client."""

    redirect_uris: tuple[str, ...]
    grant_types: tuple[str, ...] = GRANT_TYPES
    method: str = "client_secret_basic"
    name: str = ""
    uri: str = ""
    logo_uri: str = ""

    @property
    def is_public(self) -> bool:
        """Whether the client is public, without a secret."""
        return self.method == "none"


def read_registration(
    body: ClientBody, old: Registration | None = None, *, is_own: bool = False
) -> Registration:
    """Check the data of a new client, or the changes of an existing one (`old`). A public client cannot become confidential.

    `is_own`: the data come from an administrator of the project, who may register URI schemes without a dot.

    Raises: OAuthError (400): `invalid_redirect_uri`, `invalid_client_metadata`.
    """
    was = old or Registration(())
    method = _method(body, old)
    if body.response_types is not None and tuple(body.response_types) != RESPONSE_TYPES:
        raise _bad("response_types can only be code")
    uris = (
        was.redirect_uris
        if old and body.redirect_uris is None
        else _redirect_uris(body.redirect_uris or [], is_own=is_own)
    )
    return Registration(
        redirect_uris=uris,
        grant_types=was.grant_types if body.grant_types is None else _grant_types(body.grant_types),
        method=method,
        name=was.name if body.client_name is None else _name(body.client_name),
        uri=was.uri if body.client_uri is None else _page("client_uri", body.client_uri),
        logo_uri=was.logo_uri if body.logo_uri is None else _page("logo_uri", body.logo_uri),
    )


def _method(body: ClientBody, old: Registration | None) -> str:
    kind, method = body.client_type or "", body.token_endpoint_auth_method or ""
    if kind not in ("", "public", "confidential"):
        raise _bad("client_type must be public or confidential")
    if method not in ("", *METHODS):
        raise _bad(f"token_endpoint_auth_method must be one of {', '.join(METHODS)}")
    usual = old.method if old else "none" if kind == "public" else "client_secret_basic"
    chosen = method or usual
    if kind and (kind == "public") != (chosen == "none"):
        raise _bad("client_type and token_endpoint_auth_method do not go together")
    if old is not None and old.is_public != (chosen == "none"):
        raise _bad("the type of a client cannot be changed")
    return chosen


def _grant_types(given: Sequence[str]) -> tuple[str, ...]:
    grant_types = tuple(dict.fromkeys(given))
    if any(grant_type not in GRANT_TYPES for grant_type in grant_types):
        raise _bad(f"grant_types can only be {' and '.join(GRANT_TYPES)}")
    if "authorization_code" not in grant_types:
        raise _bad("grant_types must have authorization_code")
    return grant_types


def _redirect_uris(given: Sequence[str], *, is_own: bool) -> tuple[str, ...]:
    if not 1 <= len(given) <= _MOST_URIS:
        raise _bad_uri(f"there must be 1 to {_MOST_URIS} redirect_uris")
    for uri in given:
        reason = fault_of_redirect_uri(uri, is_own=is_own)
        if reason:
            raise _bad_uri(f"a redirect URI {reason}")
    return tuple(dict.fromkeys(given))


def fault_of_redirect_uri(uri: str, *, is_own: bool = False) -> str:
    """Return what is wrong with a redirect URI; empty if it is valid.

    Valid are https, http to the loopback address, and schemes of applications, which have a dot (RFC 8252, 7.1) unless an
    administrator registers them (`is_own`).
    """
    if not 0 < len(uri) <= _LONGEST_URI:
        return f"must have 1 to {_LONGEST_URI} characters"
    # A comma separates the addresses in the database; browsers differ in how they parse the others.
    if not all("!" <= sign <= "~" for sign in uri) or any(mark in uri for mark in '\\,"<>'):
        return "can hold neither blanks, commas, quotes, backslashes nor characters beyond ASCII"
    named = _SCHEME.fullmatch(uri)
    if named is None:
        return "must be absolute"
    if "#" in uri:
        return "must have no fragment"
    scheme = named[1].lower()
    if scheme in ("http", "https"):
        return _fault_of_web(uri, scheme)
    if is_active(scheme):
        return f"must not have the scheme {scheme}"
    if not is_own and not is_private_use(scheme):
        return "must be https, http on this device, or of a scheme of the application's own such as com.example.app"
    return ""


def _fault_of_web(uri: str, scheme: str) -> str:
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "has a host or port that cannot be read"
    if "@" in parts.netloc or not _HOST.fullmatch(host):
        return "must have a plain host"
    if scheme == "http" and not _is_loopback(host):
        return "must be https, except on this device (localhost, 127.0.0.1, [::1])"
    return ""


def _is_loopback(host: str) -> bool:
    if host in ("localhost", "::1"):
        return True
    try:
        return ipaddress.IPv4Address(host) in _LOOPBACK
    except ValueError:
        return False


def _name(text: str) -> str:
    if len(text) > _LONGEST_NAME:
        raise _bad(f"client_name must have at most {_LONGEST_NAME} characters")
    if not text.isprintable():  # it is shown to users, who decide by it
        raise _bad("client_name can only hold characters that can be shown")
    return text


def _page(field: str, uri: str) -> str:
    """Check the URL of a page or picture that users are shown."""
    if not uri:
        return ""
    if _scheme(uri) not in ("http", "https") or fault_of_redirect_uri(uri):
        raise _bad(f"{field} must be a https address of at most {_LONGEST_URI} characters")
    return uri


def _scheme(uri: str) -> str:
    named = _SCHEME.fullmatch(uri)
    return named[1].lower() if named else ""


def _bad(description: str) -> OAuthError:
    return OAuthError("invalid_client_metadata", description)


def _bad_uri(description: str) -> OAuthError:
    return OAuthError("invalid_redirect_uri", description)
