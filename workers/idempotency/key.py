"""The identity of a request with an `Idempotency-Key`: its caller, its key, and a hash of its content. Pure.

A caller is a user (issuer, subject and role of the token), all clients without a token, or all servers with the secret key. A token
without a subject is its own caller, by all claims but those that change with each token.

Source: draft-ietf-httpapi-idempotency-key-header, 2.1; RFC 8941, 3.3.3 (strings).
"""

import hashlib
import re

import msgspec
from msgspec import Struct

from broker.subjects import IDEMPOTENCY_KEY
from schemas.caller import Caller, ServiceCaller, UserCaller
from schemas.http import Headers, Request, header_values
from workers.idempotency.errors import KeyMalformed

LONGEST = 255
_PRINTABLE = re.compile(r"[ -~]+")
_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_MEANING = ("content-profile", "accept-profile", "content-type")
"""Headers that select the schema and the format of the body."""
_CHANGING_CLAIMS = frozenset({"exp", "iat", "nbf", "jti", "session_id"})


class KeyedRequest(Struct, frozen=True):
    """Identity of a request: two requests with equal caller and key are repeats if their fingerprints are equal, too."""

    caller: bytes
    key: str
    fingerprint: bytes


def parse_key(headers: Headers) -> str | None:
    """Return the key of a request, or None. A quoted string and the bare text are the same key.

    Raises: KeyMalformed.
    """
    values = header_values(headers, IDEMPOTENCY_KEY)
    if not values:
        return None
    if len(values) > 1:
        raise KeyMalformed("was sent more than once")
    value = values[0].strip(" \t")
    if value.startswith('"'):
        quoted = _QUOTED.fullmatch(value)
        if quoted is None:
            raise KeyMalformed("begins with a quote and is not a quoted string")
        value = re.sub(r"\\(.)", r"\1", quoted[1])
    if not value:
        raise KeyMalformed("is empty")
    if len(value) > LONGEST:
        raise KeyMalformed(f"has more than {LONGEST} characters")
    if not _PRINTABLE.fullmatch(value):
        raise KeyMalformed("has characters that are not printable ASCII")
    return value


def keyed_request(request: Request, area: str, key: str, role: str, body: bytes) -> KeyedRequest:
    """Return the identity of a request. `role` is the database role that it runs as."""
    meaning = [header_values(request.headers, name) for name in _MEANING]
    parts = [area, request.method, request.path, request.query, meaning, hashlib.sha256(body).hexdigest()]
    fingerprint = hashlib.sha256(msgspec.json.encode(parts)).digest()
    return KeyedRequest(_caller_name(request.caller, role), key, fingerprint)


def _caller_name(caller: Caller, role: str) -> bytes:
    """Return a text that identifies a caller uniquely and is the same for all its requests."""
    match caller:
        case UserCaller():
            claims = caller.decoded()
            if isinstance(claims.get("sub"), str) and claims["sub"]:
                return msgspec.json.encode(["user", role, claims.get("iss"), claims["sub"]])
            lasting = {name: claims[name] for name in sorted(claims) if name not in _CHANGING_CLAIMS}
            return msgspec.json.encode(["token", role, lasting])
        case ServiceCaller():
            return msgspec.json.encode(["service", role])
        case _:
            return msgspec.json.encode(["anonymous", role])
