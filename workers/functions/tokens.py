"""The token check of functions, and the headers that a function receives (pure).

The gateway has verified the credentials; `Request.caller` holds its result. This module decides which callers may run a function
that requires a token, chooses the error for the others, and replaces an opaque key (`sb_...`), which is not a JWT, by the legacy
JWT of its role. Source: docs/reference/functions.md, section 1 ("Token check").
"""

import base64
import binascii
from urllib.parse import parse_qs

import msgspec

from schemas.caller import AnonymousCaller, RejectedCaller, ServiceCaller
from schemas.functions.errors import FunctionTokenRejected
from schemas.http import Headers, Request, header
from workers.functions.processes.environment import FunctionKeys

_OPAQUE = "sb_"
_ASYMMETRIC = ("ES", "RS", "PS", "Ed")


class _Algorithm(msgspec.Struct):
    alg: str = ""


_decode = msgspec.json.Decoder(_Algorithm).decode


def check_token(request: Request) -> None:
    """Raise FunctionTokenRejected unless the caller may run a function that requires a token."""
    authorization = header(request.headers, "authorization")
    match request.caller:
        case ServiceCaller():
            return
        case AnonymousCaller() if _has_api_key(request, authorization):
            return
        case AnonymousCaller():
            if authorization is None:
                raise FunctionTokenRejected("UNAUTHORIZED_NO_AUTH_HEADER", "Missing authorization header")
            raise FunctionTokenRejected("UNAUTHORIZED_INVALID_JWT_FORMAT", "Invalid JWT format")
        case RejectedCaller():
            raise _rejection(_token(authorization))


def headers_for_function(request: Request, keys: FunctionKeys) -> Headers:
    """Return the headers for the function: a caller with an API key and no token gets the legacy JWT of the key's role."""
    headers = [field for field in request.headers if field[0] != "sb-api-key"]
    authorization = header(headers, "authorization")
    if authorization is not None and not _token(authorization).startswith(_OPAQUE):
        return headers
    match request.caller:
        case ServiceCaller():
            legacy = keys.service_role
        case AnonymousCaller() if _has_api_key(request, authorization):
            legacy = keys.anon
        case _:
            return headers
    rest = [field for field in headers if field[0] != "authorization"]
    return [*rest, ("authorization", f"Bearer {legacy}")]


def _has_api_key(request: Request, authorization: str | None) -> bool:
    """Return whether an anonymous caller sent an API key; the gateway rejects unknown keys itself."""
    if authorization is not None:
        return _token(authorization).startswith(_OPAQUE)
    return bool(header(request.headers, "apikey") or parse_qs(request.query).get("apikey"))


def _token(authorization: str | None) -> str:
    scheme, _, token = (authorization or "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _rejection(token: str) -> FunctionTokenRejected:
    algorithm = _algorithm(token)
    if algorithm is None:
        return FunctionTokenRejected("UNAUTHORIZED_INVALID_JWT_FORMAT", "Invalid JWT format")
    if algorithm == "HS256":
        return FunctionTokenRejected("UNAUTHORIZED_LEGACY_JWT", "Invalid JWT")
    if algorithm.startswith(_ASYMMETRIC):
        return FunctionTokenRejected("UNAUTHORIZED_ASYMMETRIC_JWT", "Invalid JWT")
    return FunctionTokenRejected("UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM", "Unsupported JWT algorithm")


def _algorithm(token: str) -> str | None:
    """Return the algorithm in the header of a JWT; None if the text is not a JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    head = parts[0]
    try:
        return _decode(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))).alg
    except (
        binascii.Error,
        ValueError,
        msgspec.MsgspecError,
        RecursionError,
    ):  # RecursionError: JSON nested too deep
        return None
