"""Keys that verify access tokens: read from a secret, a JWK or a JWK set, of ours or of a third-party issuer. Pure.

Source: RFC 7517, 7518.
"""

import base64
import binascii
import json
import math
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.exceptions import PyJWTError

ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SYMMETRIC = ("HS256", "HS384", "HS512")

_KINDS = ("oct", "RSA", "EC", "OKP")
_LEAST_RSA_BITS = 2048
_MOST_RSA_BITS = 16384
_MOST_PUBLISHED = 64


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its material, its algorithms, its id if it has one, and the epoch second from which it verifies nothing."""

    material: object
    algorithms: tuple[str, ...]
    id: str | None = None
    ends_at: float = math.inf

    def __repr__(self) -> str:
        return f"Key(id={self.id!r}, algorithms={self.algorithms!r})"


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys that may have signed a token, in the order in which they are tried."""

    keys: tuple[Key, ...] = ()

    def __add__(self, other: "KeySet") -> "KeySet":
        return KeySet(self.keys + other.keys)

    def candidates(self, key_id: object) -> tuple[Key, ...]:
        """Return the keys to try for a token: the one with its `kid`, else those without an id; all for a token without a `kid`."""
        if key_id is None:
            return self.keys
        named = tuple(key for key in self.keys if key.id == key_id)
        return named or tuple(key for key in self.keys if key.id is None)

    def limited(self, algorithms: Collection[str]) -> "KeySet":
        """Return the same keys for these algorithms only; without any, as they are."""
        if not algorithms:
            return self
        limited = (
            replace(key, algorithms=tuple(a for a in key.algorithms if a in algorithms)) for key in self.keys
        )
        return KeySet(tuple(key for key in limited if key.algorithms))


@dataclass(frozen=True, slots=True)
class Issuer:
    """Keys of the tokens of one third-party issuer. With an audience, the tokens must name it."""

    keys: KeySet = KeySet()
    audience: str | None = None


def read_keys(secret: str, *, is_base64: bool = False) -> KeySet:
    """Parse a secret: text, base64 of a binary one, a JWK or a JWK set. Empty text contains no key.

    Keys of a set that are for encryption are skipped. Of private keys only the public half is kept.
    Raises: ValueError for anything else; its text does not show the secret.
    """
    if not secret:
        return KeySet()
    if is_base64:
        return KeySet((Key(_binary(secret), SYMMETRIC),))
    if secret.lstrip()[:1] in ("{", "["):
        entries = enumerate(_entries(secret), 1)
        return KeySet(tuple(_jwk(entry, number) for number, entry in entries if entry.get("use") != "enc"))
    if "-----BEGIN" in secret:
        raise ValueError("a key in PEM form is not read; give it as a JWK")
    return KeySet((Key(secret.encode(), SYMMETRIC),))


def read_published(document: str) -> KeySet:
    """Parse the key set that an issuer publishes: its public keys, without anything that could be a shared secret.

    Unusable keys are skipped, because issuers publish some for other purposes.
    Raises: ValueError if it is not a key set, or no key can be used.
    """
    entries = _entries(document)
    if len(entries) > _MOST_PUBLISHED:
        raise ValueError(f"the key set holds more than {_MOST_PUBLISHED} keys")
    keys = []
    for number, entry in enumerate(entries, 1):
        if entry.get("kty") != "oct" and entry.get("use") != "enc":
            with suppress(ValueError):
                keys.append(_jwk(entry, number))
    if not keys:
        raise ValueError("the key set holds no public key that can be used")
    return KeySet(tuple(keys))


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
    """Parse one JWK. The library's error texts are not used: some contain the whole key."""
    kind, algorithm, key_id = entry.get("kty"), entry.get("alg"), entry.get("kid")
    if kind not in _KINDS:
        raise ValueError(f"key {number} cannot be used: `kty` must be one of {', '.join(_KINDS)}")
    usual = SYMMETRIC if kind == "oct" else ASYMMETRIC
    if algorithm is not None and algorithm not in usual:
        raise ValueError(
            f"key {number} cannot be used: `alg` of a key of kind {kind} must be one of {', '.join(usual)}"
        )
    try:
        key = jwt.PyJWK(entry).key
    except (PyJWTError, ValueError, TypeError, LookupError):
        raise ValueError(f"key {number} cannot be used: it is no valid key of kind {kind}") from None
    key = key.public_key() if hasattr(key, "public_key") else key
    if isinstance(key, RSAPublicKey) and key.key_size < _LEAST_RSA_BITS:
        raise ValueError(f"key {number} cannot be used: an RSA key must have {_LEAST_RSA_BITS} bits or more")
    if isinstance(key, RSAPublicKey) and key.key_size > _MOST_RSA_BITS:
        raise ValueError(f"key {number} cannot be used: an RSA key must have {_MOST_RSA_BITS} bits or fewer")
    algorithms = usual if algorithm is None else (str(algorithm),)
    return Key(key, algorithms, key_id if isinstance(key_id, str) else None)
