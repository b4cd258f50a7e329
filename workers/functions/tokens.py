"""Whether a caller may run a function that wants a token, and what the function is told of it (pure).

The edge has verified what was sent: `Request.caller` says what came of it. Here it is said who passes, in which words the
others are refused, and that an opaque key (`sb_...`), which is no token, stands for the legacy key of its role.
Source: reference page "functions", section 1 ("Token check").
"""

import base64
import binascii
from urllib.parse import parse_qs

import msgspec

from schemas.caller import AnonymousCaller, RejectedCaller, ServiceCaller
from schemas.functions.errors import FunctionTokenRejected
from schemas.http import Headers, Request, header
from workers.functions.environment import Keys

_OPAQUE = "sb_"
_ASYMMETRIC = ("ES", "RS", "PS", "Ed")


class _Algorithm(msgspec.Struct):
    alg: str = ""


_decode = msgspec.json.Decoder(_Algorithm).decode


def check_token(request: Request) -> None:
    """Let a request pass, or refuse it. Raises: TokenRefused."""
    authorization = header(request.headers, "authorization")
    match request.caller:
        case ServiceCaller():
            return
        case AnonymousCaller() if _speaks_by_key(request, authorization):
            return
        case AnonymousCaller():
            if authorization is None:
                raise FunctionTokenRejected("UNAUTHORIZED_NO_AUTH_HEADER", "Missing authorization header")
            raise FunctionTokenRejected("UNAUTHORIZED_INVALID_JWT_FORMAT", "Invalid JWT format")
        case RejectedCaller():
            raise _refused(_token(authorization))


def with_token(request: Request, keys: Keys) -> Headers:
    """Give the headers for the function: a caller with a key and no token gets the legacy key of its role."""
    headers = [each for each in request.headers if each[0] != "sb-api-key"]
    authorization = header(headers, "authorization")
    if authorization is not None and not _token(authorization).startswith(_OPAQUE):
        return headers
    match request.caller:
        case ServiceCaller():
            legacy = keys.service_role
        case AnonymousCaller() if _speaks_by_key(request, authorization):
            legacy = keys.anon
        case _:
            return headers
    rest = [each for each in headers if each[0] != "authorization"]
    return [*rest, ("authorization", f"Bearer {legacy}")]


def _speaks_by_key(request: Request, authorization: str | None) -> bool:
    """Tell whether an anonymous caller showed a key: the edge rejects one that it does not know."""
    if authorization is not None:
        return _token(authorization).startswith(_OPAQUE)
    return bool(header(request.headers, "apikey") or parse_qs(request.query).get("apikey"))


def _token(authorization: str | None) -> str:
    scheme, _, token = (authorization or "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _refused(token: str) -> FunctionTokenRejected:
    algorithm = _algorithm(token)
    if algorithm is None:
        return FunctionTokenRejected("UNAUTHORIZED_INVALID_JWT_FORMAT", "Invalid JWT format")
    if algorithm == "HS256":
        return FunctionTokenRejected("UNAUTHORIZED_LEGACY_JWT", "Invalid JWT")
    if algorithm.startswith(_ASYMMETRIC):
        return FunctionTokenRejected("UNAUTHORIZED_ASYMMETRIC_JWT", "Invalid JWT")
    return FunctionTokenRejected("UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM", "Unsupported JWT algorithm")


def _algorithm(token: str) -> str | None:
    """Give the algorithm that the head of a token names; None if it is no token."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    head = parts[0]
    try:
        return _decode(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))).alg
    except (binascii.Error, ValueError, msgspec.MsgspecError, RecursionError):  # the last: nested too deep
        return None
