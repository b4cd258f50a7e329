"""Checks of the keys in [auth]: signing keys, the SAML key, keys of encryption at rest (pure).

They check only the form, so that the command line need not load a cryptographic library; whether a key works is checked where it
is used. No error text contains a key.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import msgspec

from schemas.keys.hashed_keys import MOST_HASHED, is_key_name, parse_hashed_key
from schemas.keys.sealing_keys import LEAST_CHARACTERS, sealing_texts
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth, DatabaseEncryption
from schemas.settings.auth_providers import SamlSettings
from schemas.settings.former_secret import former_secret_ends

SIGNING_ALGORITHMS = ("RS256", "RS512", "ES256", "ES512", "EdDSA", "HS256")
_KEY_BYTES = 32
_LEAST_RSA_BITS = 2048
_LEAST_OPAQUE = 16
_RSA_EXPONENT = 65537


def named_keys(auth: Auth) -> Secret | None:
    """Return the list of signing keys, or None for an empty one."""
    text = auth.jwt_keys.reveal() if auth.jwt_keys else ""
    return auth.jwt_keys if "".join(text.split()) not in ("", "[]") else None


def signing_fault(auth: Auth) -> Iterator[str]:
    """Yield errors of the list of signing keys: exactly one signs. Source: docs/reference/auth.md, section 3.2."""
    keys = named_keys(auth)
    if keys is None:
        return
    entries = _entries(keys.reveal())
    if entries is None:
        yield "{auth.jwt_keys} must be a list of JWKs as JSON"
        return
    signing = [entry for entry in entries if "sign" in _operations(entry)]
    if len(signing) != 1:
        count = "none" if not signing else len(signing)
        yield f"{{auth.jwt_keys}} must have exactly one key with sign in its key_ops; it has {count}"
    for number, entry in enumerate(entries, 1):
        if entry.get("alg") not in (None, *SIGNING_ALGORITHMS):
            yield f"{{auth.jwt_keys}}: alg of key {number} must be one of {', '.join(SIGNING_ALGORITHMS)}"
    names = [entry.get("kid") for entry in entries if "kid" in entry]
    if any(not isinstance(name, str) for name in names) or len(set(names)) < len(names):
        yield "{auth.jwt_keys}: every kid must be a text that no other key has"


def listed_keys(keys: Secret | None) -> tuple[str, ...]:
    """Return the API keys of a comma-separated list."""
    parts = keys.reveal().split(",") if keys else ()
    return tuple(part.strip() for part in parts if part.strip())


def opaque_fault(auth: Auth) -> Iterator[str]:
    """Yield errors of the further API keys: their form distinguishes them from tokens, and public from secret ones."""
    for name, keys, start in (
        ("publishable_keys", auth.publishable_keys, "sb_publishable_"),
        ("secret_keys", auth.secret_keys, "sb_secret_"),
    ):
        for number, text in enumerate(listed_keys(keys), 1):
            if not text.startswith(start) or len(text) < len(start) + _LEAST_OPAQUE:
                yield f"{{auth.{name}}}: key {number} must begin with {start} and have {_LEAST_OPAQUE} characters more"


def hashed_fault(auth: Auth) -> Iterator[str]:
    """Yield errors of the API keys that are stored as digests."""
    if len(auth.hashed_keys) > MOST_HASHED:
        yield f"{{auth.hashed_keys}} may have {MOST_HASHED} keys"
    digests: dict[bytes, str] = {}
    for name, text in auth.hashed_keys.items():
        key = parse_hashed_key(text)
        if not is_key_name(name):
            yield f"{{auth.hashed_keys}}: '{name[:80]}' must be up to 64 small letters, digits, - and _"
        elif key is None:
            yield f"{{auth.hashed_keys}}: {name} must be `publishable` or `secret` and the SHA-256 of the key in hexadecimal"
        elif other := digests.get(key.digest):
            yield f"{{auth.hashed_keys}}: {name} is the same key as {other}"
        else:
            digests[key.digest] = name


def saml_fault(saml: SamlSettings) -> Iterator[str]:
    """Yield errors of the keys of SAML. Source: docs/reference/auth.md, section 13; RFC 8017, A.1.2."""
    if not saml.enabled:
        return
    if not saml.private_key:
        yield "{auth.saml.enabled} needs {auth.saml.private_key}, which is not set"
    for name, key in (("private_key", saml.private_key), ("private_key_next", saml.private_key_next)):
        numbers = _rsa_numbers(_decoded(key, url=False) or b"") if key else None
        if key and numbers is None:
            yield f"{{auth.saml.{name}}} must be an RSA key: PKCS#1 DER in base64"
        elif numbers and (numbers[0].bit_length() < _LEAST_RSA_BITS or numbers[1] != _RSA_EXPONENT):
            yield f"{{auth.saml.{name}}} must have 2048 bits or more, and the exponent 65537"


def sealing_fault(auth: Auth) -> Iterator[str]:
    """Yield errors of the sealing key, and of the former JWT secret."""
    if any(len(text) < LEAST_CHARACTERS for text in sealing_texts(auth)):
        yield f"{{auth.sealing_key}}: each key must have {LEAST_CHARACTERS} characters or more"
    if auth.former_jwt_secret is not None and not former_secret_ends(auth):
        yield "{auth.former_jwt_secret} needs {auth.former_jwt_secret_until}, a time such as 2027-01-31T12:00:00Z"


def encryption_fault(encryption: DatabaseEncryption) -> Iterator[str]:
    """Yield errors of the keys of encryption at rest: a lost key is lost data. Source: docs/reference/auth.md, section 19."""
    section = "auth.database_encryption"
    for name, key in encryption.decryption_keys.items():
        if len(_decoded(key, url=True) or b"") != _KEY_BYTES:
            label = name if name.isidentifier() else "one"
            yield f"{{{section}.decryption_keys}}: {label} must be 32 bytes in base64url"
    if not encryption.encrypt:
        return
    for needed in ("encryption_key_id", "encryption_key"):
        if not getattr(encryption, needed):
            yield f"{{{section}.encrypt}} needs {{{section}.{needed}}}, which is not set"
    if len(_decoded(encryption.encryption_key, url=True) or b"") != _KEY_BYTES:
        yield f"{{{section}.encryption_key}} must be 32 bytes in base64url"
    if encryption.decryption_keys.get(encryption.encryption_key_id) != encryption.encryption_key:
        yield f"{{{section}.decryption_keys}} must hold {{{section}.encryption_key}} under its id too"


def _entries(text: str) -> list[dict[str, Any]] | None:
    try:
        parsed = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    is_list = isinstance(parsed, list) and all(isinstance(entry, dict) for entry in parsed)
    return parsed if is_list else None


def _operations(entry: dict[str, Any]) -> list[Any]:
    operations = entry.get("key_ops")
    return operations if isinstance(operations, list) else []


def _decoded(key: Secret | None, *, url: bool) -> bytes | None:
    text = key.reveal() if key else ""
    try:
        usual = (text if url else "".join(text.split())).encode("ascii").rstrip(b"=")
        if url:
            usual = usual.translate(bytes.maketrans(b"-_", b"+/"))
        return base64.b64decode(usual + b"=" * (-len(usual) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _rsa_numbers(der: bytes) -> tuple[int, int] | None:
    """Return modulus and public exponent of a private key in DER."""
    inside = _element(der, 0x30)
    if inside is None:
        return None
    numbers, rest = [], inside[0]
    for _ in range(3):  # version, modulus, public exponent
        element = _element(rest, 0x02)
        if element is None:
            return None
        numbers.append(int.from_bytes(element[0], "big"))
        rest = element[1]
    return (numbers[1], numbers[2]) if numbers[0] == 0 else None


def _element(der: bytes, tag: int) -> tuple[bytes, bytes] | None:
    """Split the first element of that tag off: its content, and what follows. Source: X.690, 8.1."""
    if len(der) < 2 or der[0] != tag:
        return None
    size, start = der[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(der[2:start], "big")
    end = start + size
    return (der[start:end], der[end:]) if end <= len(der) else None
