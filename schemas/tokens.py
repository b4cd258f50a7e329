"""Access tokens: verify, and the words of every refusal. Pure but for a cache.

Checks in the order in which refusals win: empty, three parts, key and algorithm, signature, claims is an object, exp,
nbf, iat, aud. Signatures are cached by token; time claims are looked at on every use.
Source: reference page "rest", section 5 and errors 300 to 303; RFC 7515, 7519.
"""

import base64
import binascii
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from jwt.exceptions import InvalidKeyError, InvalidTokenError, PyJWTError
from jwt.warnings import InsecureKeyLengthWarning

from schemas.caller import Refusal, Rejected, User

SKEW_S = 30
"""Seconds by which clocks may differ."""

_ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_SYMMETRIC = ("HS256", "HS384", "HS512")
_KINDS = ("oct", "RSA", "EC", "OKP")
_LEAST_RSA_BITS = 2048
_KEPT_TEXT = 8192
_FAR_S = 10**15
"""Times beyond this, in seconds since 1970, are as good as never."""
_PARTS = re.compile(r"[\w=-]*\.[\w=-]*\.[\w=-]*", re.ASCII)
_jws = jwt.api_jws.PyJWS()
_object = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it is, for which algorithms, and its id if it has one."""

    material: object
    algorithms: tuple[str, ...]
    id: str | None = None

    def __repr__(self) -> str:
        return f"Key(id={self.id!r}, algorithms={self.algorithms!r})"


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys that may have signed a token, in the order in which they are tried."""

    keys: tuple[Key, ...] = ()

    def __add__(self, other: "KeySet") -> "KeySet":
        return KeySet(self.keys + other.keys)

    def candidates(self, key_id: str | None) -> tuple[Key, ...]:
        """Give the keys for a token: the one of its `kid`, or all when it names none or no key has an id."""
        if key_id is None:
            return self.keys
        named = tuple(key for key in self.keys if key.id == key_id)
        return named or tuple(key for key in self.keys if key.id is None)


def read_keys(secret: str, *, is_base64: bool = False) -> KeySet:
    """Read a secret: text, base64 of a binary one, a JWK or a JWK set. Empty text is no key.

    Keys of a set that are for encryption are passed over. Of private keys only the public half is kept.
    Raises: ValueError if it is none of these; its text does not show the secret.
    """
    if not secret:
        return KeySet()
    if is_base64:
        return KeySet((Key(_binary(secret), _SYMMETRIC),))
    if secret.lstrip()[:1] in ("{", "["):
        entries = enumerate(_entries(secret), 1)
        return KeySet(tuple(_jwk(entry, number) for number, entry in entries if entry.get("use") != "enc"))
    if "-----BEGIN" in secret:
        raise ValueError("a key in PEM form is not read; give it as a JWK")
    return KeySet((Key(secret.encode(), _SYMMETRIC),))


def _binary(text: str) -> bytes:
    """Decode base64 of either alphabet, with its padding or without."""
    usual = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        secret = base64.b64decode(usual + "=" * (-len(usual) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the secret is not valid base64") from None
    if not secret:
        raise ValueError("the secret is empty")
    return secret


def _entries(secret: str) -> list[dict[str, object]]:
    try:
        parsed = json.loads(secret)
    except (ValueError, RecursionError):
        raise ValueError("the JWK or JWK set is not valid JSON") from None
    entries = parsed.get("keys", [parsed]) if isinstance(parsed, dict) else parsed
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError("a JWK set is an object with a list `keys`, or a list of keys")
    return entries


def _jwk(entry: dict[str, object], number: int) -> Key:
    """Read one JWK. The library's words are not shown: some hold the whole key."""
    kind, algorithm, key_id = entry.get("kty"), entry.get("alg"), entry.get("kid")
    if kind not in _KINDS:
        raise ValueError(f"key {number} cannot be used: `kty` must be one of {', '.join(_KINDS)}")
    usual = _SYMMETRIC if kind == "oct" else _ASYMMETRIC
    if algorithm is not None and algorithm not in usual:
        raise ValueError(
            f"key {number} cannot be used: `alg` of a key of kind {kind} must be one of {', '.join(usual)}"
        )
    try:
        key = jwt.PyJWK(entry).key
    except (PyJWTError, ValueError, TypeError, LookupError):
        raise ValueError(f"key {number} cannot be used: it is no valid key of kind {kind}") from None
    if isinstance(key, RSAPrivateKey):
        key = key.public_key()
    if isinstance(key, RSAPublicKey) and key.key_size < _LEAST_RSA_BITS:
        raise ValueError(f"key {number} cannot be used: an RSA key must have {_LEAST_RSA_BITS} bits or more")
    algorithms = usual if algorithm is None else (str(algorithm),)
    return Key(key, algorithms, key_id if isinstance(key_id, str) else None)


class Verifier:
    """Turns token texts into callers, with the keys and the audience of one area. Verified tokens are kept."""

    def __init__(self, keys: KeySet, *, audience: str | None = None, max_entries: int = 10_000) -> None:
        self._keys = keys
        self._audience = audience
        self._max_entries = max_entries
        self._kept: dict[str, tuple[User, float, float]] = {}

    def verify(self, token: str, now: float) -> User | Rejected:
        """Give the caller of a token at a time in seconds since 1970."""
        kept = self._kept.get(token)
        if kept is not None and kept[1] <= now <= kept[2]:
            return kept[0]
        checked = self._check(token, now)
        if isinstance(checked, Rejected):
            return checked
        user, valid_from, valid_to = checked
        if self._max_entries > 0 and len(token) <= _KEPT_TEXT:
            if len(self._kept) >= self._max_entries and token not in self._kept:
                del self._kept[next(iter(self._kept))]
            self._kept[token] = (user, valid_from, valid_to)
        return user

    def forget(self) -> None:
        """Drop what is kept: keys have changed."""
        self._kept.clear()

    def _check(self, token: str, now: float) -> tuple[User, float, float] | Rejected:
        payload = self._payload(token)
        if isinstance(payload, Rejected):
            return payload
        try:
            claims = _object.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Rejected(Refusal.CLAIMS, "Parsing claims failed")
        refusal = _times(claims, now) or _audience(claims, self._audience)
        if refusal:
            return Rejected(Refusal.CLAIMS, refusal)
        starts = [_seconds(claims[name]) for name in ("nbf", "iat") if claims.get(name) is not None]
        ends = _seconds(claims["exp"]) if claims.get("exp") is not None else float("inf")
        return User(payload), max(starts, default=float("-inf")) - SKEW_S, ends + SKEW_S

    def _payload(self, token: str) -> bytes | Rejected:
        """Verify the signature and give the payload."""
        if not token:
            return _undecodable("Empty JWT is sent in Authorization header")
        parts = token.split(".")
        if len(parts) != 3:
            return _undecodable(f"Expected 3 parts in JWT; got {len(parts)}")
        if not self._keys.keys:
            return Rejected(Refusal.NO_SECRET, "Server lacks JWT secret")
        if not _PARTS.fullmatch(token):
            return _undecodable("JWT cryptographic operation failed")
        try:
            header = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
            algorithm, key_id = header.get("alg"), header.get("kid")
        except (ValueError, AttributeError, RecursionError):
            return _undecodable("JWT cryptographic operation failed")
        if algorithm == "none":
            return _undecodable(
                "Wrong or unsupported encoding algorithm",
                "JWT is unsecured but expected 'alg' was not 'none'",
            )
        if algorithm not in _SYMMETRIC and algorithm not in _ASYMMETRIC:
            return _undecodable("Wrong or unsupported encoding algorithm")
        for key in self._keys.candidates(key_id):
            if algorithm in key.algorithms and (payload := _verified(token, key, algorithm)) is not None:
                return payload
        return _undecodable(
            "No suitable key or wrong key type", "None of the keys was able to decode the JWT"
        )


def _verified(token: str, key: Key, algorithm: str) -> bytes | None:
    """Give the payload if this key signed the token."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", InsecureKeyLengthWarning
            )  # the settings say how long a secret must be
            return _jws.decode(token, key.material, algorithms=[algorithm])  # type: ignore[no-any-return, arg-type]  # bytes; any key kind
    except (InvalidTokenError, InvalidKeyError, ValueError, TypeError, RecursionError):
        return None


def _undecodable(message: str, details: str | None = None) -> Rejected:
    return Rejected(Refusal.UNDECODABLE, message, details)


def _times(claims: Mapping[str, object], now: float) -> str | None:
    """Check the time claims in order; only those that are there."""
    for name in ("exp", "nbf", "iat"):
        value = claims.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"The JWT '{name}' claim must be a number"
        if name == "exp" and value + SKEW_S < now:
            return "JWT expired"
        if name != "exp" and value - SKEW_S > now:
            return "JWT not yet valid" if name == "nbf" else "JWT issued at future"
    return None


def _seconds(value: object) -> float:
    """Give a time claim as a number that is not beyond all measure. `_times` saw that it is a number."""
    return float(min(max(value, -_FAR_S), _FAR_S))  # type: ignore[call-overload]  # a number, see above


def _audience(claims: Mapping[str, object], wanted: str | None) -> str | None:
    """Check `aud`: a text or a list of texts; missing, null or an empty list passes."""
    value = claims.get("aud")
    if value is None:
        return None
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in listed):
        return "The JWT 'aud' claim must be a string or an array of strings"
    if wanted is not None and listed and wanted not in listed:
        return "JWT not in audience"
    return None
