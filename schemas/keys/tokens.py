"""Verify access tokens; every rejection has the reference's error text. Pure, except for a cache.

The checks run in the order in which their errors take precedence: empty, three parts, key and algorithm, signature, claims are an
object, exp, nbf, iat, aud. Signatures are cached by token; time claims are checked on every use.

A token whose `iss` equals a third-party issuer's is verified with that issuer's keys alone, and every other token
with ours alone: no issuer can sign tokens of another, whatever `kid` they name.
Source: docs/reference/rest.md, section 5 and errors 300 to 303; RFC 7515, 7519.
"""

import base64
import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace

import jwt
import msgspec
from jwt.exceptions import InvalidKeyError, InvalidTokenError
from jwt.warnings import InsecureKeyLengthWarning

from schemas.bounded_cache import BoundedCache
from schemas.caller import RejectedCaller, TokenFault, UserCaller
from schemas.keys.token_claims import SKEW_S as SKEW_S  # offered here, beside those who need it
from schemas.keys.token_claims import refused_claim, validity
from schemas.keys.token_keys import ASYMMETRIC, SYMMETRIC, Issuer, Key, KeySet
from schemas.keys.token_keys import read_keys as read_keys  # offered here, beside those who need it

_LONGEST_CACHED = 8192
_PARTS = re.compile(r"[\w-]*\.[\w-]*\.[\w-]*", re.ASCII)
"""Base64url without padding. Source: RFC 7515, 2."""
_jws = jwt.api_jws.PyJWS()
_object = msgspec.json.Decoder(dict[str, object])


class Verifier:
    """Verifies tokens with the keys and the audience of one area, and returns callers. Verified tokens are cached."""

    def __init__(self, keys: KeySet, *, audience: str | None = None, max_entries: int = 10_000) -> None:
        self._platform = Issuer(keys, audience)
        self._third_party: Mapping[str, Issuer] = {}
        self._is_caching = max_entries > 0
        self._cache: BoundedCache[str, tuple[UserCaller, float, float]] = BoundedCache(max(1, max_entries))

    def verify(self, token: str, now: float) -> UserCaller | RejectedCaller:
        """Return the caller of a token at a time in seconds since 1970."""
        cached = self._cache.get(token)
        if cached is not None and cached[1] <= now <= cached[2]:
            return cached[0]
        checked = self._check(token, now)
        if isinstance(checked, RejectedCaller):
            return checked
        user, valid_from, valid_to = checked
        if self._is_caching and len(token) <= _LONGEST_CACHED:
            self._cache.put(token, (user, valid_from, valid_to))
        return user

    def use(self, keys: KeySet) -> None:
        """Use these keys of ours from now on; tokens signed by others are no longer valid."""
        self._platform = replace(self._platform, keys=keys)
        self.forget()

    def trust(self, issuers: Mapping[str, Issuer]) -> None:
        """Accept the tokens of these issuers, too, by their `iss`, from now on."""
        self._third_party = dict(issuers)
        self.forget()

    def forget(self) -> None:
        """Clear the cache, because keys have changed."""
        self._cache.clear()

    def lacking(self, token: str) -> str | None:
        """Return the issuer whose keys lack a token's `kid` (the empty text for ours), or None if one has it.

        So a rejected token shows whose keys may have changed. A token without a `kid` matches keys without an id.
        """
        issuer = self._issuer_of(token)
        keys = (self._platform if issuer is None else self._third_party[issuer]).keys
        header = _part(token, 0)
        if header is None or any(key.id == header.get("kid") for key in keys.keys):
            return None
        return issuer or ""

    def _issuer_of(self, token: str) -> str | None:
        """Return the `iss` of a token that claims to be of a third-party issuer; nothing of it is verified yet."""
        claims = _part(token, 1) if self._third_party else None
        return self._third_party_name(claims) if claims else None

    def _third_party_name(self, claims: Mapping[str, object]) -> str | None:
        name = claims.get("iss")
        return name if isinstance(name, str) and name in self._third_party else None

    def _check(self, token: str, now: float) -> tuple[UserCaller, float, float] | RejectedCaller:
        third_party = self._issuer_of(token)
        issuer = self._platform if third_party is None else self._third_party[third_party]
        verified = _payload(token, issuer.keys, now, is_third_party=third_party is not None)
        if isinstance(verified, RejectedCaller):
            return verified
        payload, key = verified
        try:
            claims = _object.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return RejectedCaller(TokenFault.CLAIMS, "Parsing claims failed")
        if (
            self._third_party_name(claims) != third_party
        ):  # Danger: the two JSON parsers disagree on its `iss`
            return _undecodable("JWT cryptographic operation failed")
        is_needed = third_party is not None and issuer.audience is not None
        audience = issuer.audience or self._platform.audience
        refusal = refused_claim(claims, now, audience, needs_audience=is_needed)
        if refusal:
            return RejectedCaller(TokenFault.CLAIMS, refusal)
        valid_from, valid_to = validity(claims)
        last = math.nextafter(key.ends_at, -math.inf)  # the cache takes a token at the last moment, too
        return UserCaller(payload), valid_from, min(valid_to, last)


def _payload(
    token: str, keys: KeySet, now: float, *, is_third_party: bool
) -> tuple[bytes, Key] | RejectedCaller:
    """Verify the signature and return the payload, and the key that signed it."""
    if not token:
        return _undecodable("Empty JWT is sent in Authorization header")
    parts = token.split(".")
    if len(parts) != 3:
        return _undecodable(f"Expected 3 parts in JWT; got {len(parts)}")
    if not keys.keys and not is_third_party:
        return RejectedCaller(TokenFault.NO_SECRET, "Server lacks JWT secret")
    header = _part(token, 0) if _PARTS.fullmatch(token) else None
    if header is None:
        return _undecodable("JWT cryptographic operation failed")
    algorithm = header.get("alg")
    if algorithm == "none":
        return _undecodable(
            "Wrong or unsupported encoding algorithm", "JWT is unsecured but expected 'alg' was not 'none'"
        )
    if algorithm not in SYMMETRIC and algorithm not in ASYMMETRIC:
        return _undecodable("Wrong or unsupported encoding algorithm")
    for key in keys.candidates(header.get("kid")):
        if algorithm not in key.algorithms or now >= key.ends_at:
            continue
        if (payload := _verified(token, key, algorithm)) is not None:
            return payload, key
    return _undecodable("No suitable key or wrong key type", "None of the keys was able to decode the JWT")


def _part(token: str, index: int) -> dict[str, object] | None:
    """Parse the header (0) or the claims (1) of a token if they are an object in UTF-8; nothing is verified."""
    try:
        text = token.split(".", 2)[index]
        # Decoded first: of bytes, json.loads would guess UTF-16 and UTF-32 as well (RFC 7515, 3, wants UTF-8).
        part = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    except (ValueError, IndexError, RecursionError):
        return None
    return part if isinstance(part, dict) else None


def _verified(token: str, key: Key, algorithm: str) -> bytes | None:
    """Return the payload if this key signed the token."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", InsecureKeyLengthWarning
            )  # the settings say how long a secret must be
            return _jws.decode(token, key.material, algorithms=[algorithm])  # type: ignore[no-any-return, arg-type]  # bytes; any key kind
    except (InvalidTokenError, InvalidKeyError, ValueError, TypeError, RecursionError):
        return None


def _undecodable(message: str, details: str | None = None) -> RejectedCaller:
    return RejectedCaller(TokenFault.UNDECODABLE, message, details)
