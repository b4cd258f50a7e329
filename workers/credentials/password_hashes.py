"""Password hashes: ours, and those of imported users. `hashing.py` runs these functions in threads.

Stored texts that are read:

    $argon2id$v=19$m=19456,t=2,p=1$salt$hash                            ours; argon2i and version 16 too
    $2a$10$...   $2b$...   $2y$...                                      bcrypt
    $fbscrypt$v=1,n=14,r=8,p=1,ss=<base64>,sk=<base64>$salt$hash        Firebase: n is a power of two, sk the signer key
    $scrypt$ln=14,r=8,p=1$salt$hash                                     scrypt in its usual text form

Costs are checked against limits before any work is done, because an imported hash may be crafted to exhaust memory. Nothing
here logs or prints a hash or a password.

argon2id with one lane is computed by libsodium, which uses the widest SIMD instructions of the processor. The reference
implementation, which argon2-cffi contains, uses SSE2 only; it computes the rest: argon2i, several lanes, other salts.
Sources: docs/reference/auth.md, section 19; RFC 9106; RFC 7914.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field

import argon2
import bcrypt
from argon2.exceptions import VerifyMismatchError
from argon2.low_level import hash_secret, verify_secret
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from nacl.bindings import crypto_pwhash_alg, crypto_pwhash_ALG_ARGON2ID13

SALT_BYTES = 16
_HASH_BYTES = 32
_MIN_SODIUM_BYTES = 16
"""Bytes of the shortest hash that libsodium computes."""
_ARGON2_VERSION = 19
_BCRYPT_BYTES = 72
_MOST_MEMORY_KIB = 1024 * 1024
_MOST_PASSES = 20
_MOST_LANES = 16
_MOST_BCRYPT_COST = 16
_MOST_TEXT = 1024

_ARGON2 = re.compile(
    r"\$argon2(?P<kind>i|id)\$v=(?P<version>16|19)\$m=(?P<m>[1-9][0-9]{0,8}),t=(?P<t>[1-9][0-9]{0,4}),p=(?P<p>[1-9][0-9]{0,4})"
    r"\$(?P<salt>[A-Za-z0-9+/]+)=*\$(?P<hash>[A-Za-z0-9+/]+)=*"
)
_BCRYPT = re.compile(
    r"(\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{21})([./A-Za-z0-9])([./A-Za-z0-9]{30})([./A-Za-z0-9])"
)
_BCRYPT_DIGITS = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_FIREBASE = re.compile(
    r"\$fbscrypt\$v=1,n=(?P<n>[0-9]{1,2}),r=(?P<r>[0-9]{1,5}),p=(?P<p>[0-9]{1,5})"
    r"(?:,ss=(?P<separator>[^,$]*))?,sk=(?P<key>[^,$]+)\$(?P<salt>[^$]*)\$(?P<hash>[^$]+)"
)
_SCRYPT = re.compile(
    r"\$scrypt\$ln=(?P<n>[0-9]{1,2}),r=(?P<r>[0-9]{1,5}),p=(?P<p>[0-9]{1,5})\$(?P<salt>[^$]*)\$(?P<hash>[^$]+)"
)


class UnreadableHash(ValueError):
    """A stored or imported text is not a supported password hash, or its cost exceeds the limits."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one hash: memory in KiB, passes over it, parallel lanes."""

    memory_kib: int = 19456
    passes: int = 2
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a password is correct, and whether its hash should be recomputed at the current cost."""

    is_right: bool
    needs_rehash: bool = False


@dataclass(frozen=True, slots=True)
class Argon2Hash:
    """A hash of argon2i or argon2id. `text` is without base64 padding, as argon2-cffi expects it."""

    kind: argon2.Type
    version: int
    cost: Cost
    salt_bytes: int
    hash_bytes: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class BcryptHash:
    """A hash of bcrypt."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ScryptHash:
    """A hash of scrypt. With a `signer` it is Firebase's: the derived key encrypts the signer key, and the result is stored."""

    n: int
    r: int
    p: int
    salt: bytes = field(repr=False)
    stored: bytes = field(repr=False)
    signer: bytes | None = field(default=None, repr=False)


StoredHash = Argon2Hash | BcryptHash | ScryptHash


def hash_password(password: str, cost: Cost, salt: bytes) -> str:
    """Return the text that is stored. `salt` is 16 random bytes, new for each password."""
    if cost.lanes == 1 and len(salt) == SALT_BYTES:
        digest = _argon2id(password, salt, cost, _HASH_BYTES)
        costs = f"m={cost.memory_kib},t={cost.passes},p=1"
        return f"$argon2id$v={_ARGON2_VERSION}${costs}${_bare_base64(salt)}${_bare_base64(digest)}"
    text = hash_secret(
        _bytes(password),
        salt,
        time_cost=cost.passes,
        memory_cost=cost.memory_kib,
        parallelism=cost.lanes,
        hash_len=_HASH_BYTES,
        type=argon2.Type.ID,
        version=_ARGON2_VERSION,
    )
    return text.decode()


def verify_password(password: str, stored: StoredHash, cost: Cost) -> Verdict:
    """Check a password against a hash; a hash that is weaker than `cost` should be recomputed."""
    match stored:
        case Argon2Hash():
            is_right = _is_argon2(password, stored)
        case BcryptHash():
            # bcrypt ignores bytes after the 72nd; its implementations truncate, and imported users depend on it.
            is_right = bcrypt.checkpw(_bytes(password)[:_BCRYPT_BYTES], stored.text.encode())
        case ScryptHash():
            is_right = _is_scrypt(password, stored)
    return Verdict(is_right, is_right and _is_weaker(stored, cost))


def read_hash(text: str) -> StoredHash:
    """Parse a stored or imported hash.

    Raises: UnreadableHash for any other text, and for costs beyond 1 GiB of memory, 20 passes, 16 lanes, bcrypt cost 16.
    """
    if len(text) > _MOST_TEXT:
        raise UnreadableHash("the text is too long for a password hash")
    if match := _ARGON2.fullmatch(text):
        return _argon2_hash(match)
    if match := _BCRYPT.fullmatch(text):
        if not 4 <= int(match["cost"]) <= _MOST_BCRYPT_COST:
            raise UnreadableHash(f"the cost of a bcrypt hash is 4 to {_MOST_BCRYPT_COST}")
        return BcryptHash(match[1] + _cut(match[3], 4) + match[4] + _cut(match[5], 2))
    if match := _FIREBASE.fullmatch(text):
        return _scrypt_hash(match, _base64(match["separator"] or ""), _base64(match["key"]))
    if match := _SCRYPT.fullmatch(text):
        return _scrypt_hash(match, b"", None)
    raise UnreadableHash("not a password hash of a known kind")


def _cut(digit: str, bits: int) -> str:
    """Return a digit of bcrypt's base64 without its last bits, which mean nothing: some programs set them, the library rejects them."""
    return _BCRYPT_DIGITS[_BCRYPT_DIGITS.index(digit) >> bits << bits]


def _argon2_hash(match: re.Match[str]) -> Argon2Hash:
    cost = Cost(int(match["m"]), int(match["t"]), int(match["p"]))
    if not (1 <= cost.lanes <= _MOST_LANES and 8 * cost.lanes <= cost.memory_kib <= _MOST_MEMORY_KIB):
        raise UnreadableHash("an argon2 hash has 1 to 16 lanes, and 8 KiB for each to 1 GiB of memory")
    if not 1 <= cost.passes <= _MOST_PASSES:
        raise UnreadableHash(f"an argon2 hash has 1 to {_MOST_PASSES} passes")
    kind = argon2.Type.ID if match["kind"] == "id" else argon2.Type.I
    salt, digest = match["salt"], match["hash"]
    text = f"{match[0].rpartition('$')[0].rpartition('$')[0]}${salt}${digest}"
    salt_raw, digest_raw = _base64(salt), _base64(digest)
    if len(salt_raw) < 8 or len(digest_raw) < 12:
        raise UnreadableHash("the salt or the hash of an argon2 hash is too short")
    for raw, text_part in ((salt_raw, salt), (digest_raw, digest)):
        if _bare_base64(raw) != text_part:  # argon2-cffi rejects such texts
            raise UnreadableHash("the base64 of an argon2 hash has bits that mean nothing")
    return Argon2Hash(kind, int(match["version"]), cost, len(salt_raw), len(digest_raw), text)


def _scrypt_hash(match: re.Match[str], separator: bytes, signer: bytes | None) -> ScryptHash:
    power, r, p = int(match["n"]), int(match["r"]), int(match["p"])
    stored = _base64(match["hash"])
    if not (1 <= power < min(31, 16 * r) and 1 <= p <= _MOST_LANES):
        raise UnreadableHash("a scrypt hash has n of 2 to 2^30, below 2^(16 r), and 1 to 16 lanes")
    if (r << power) * 128 > _MOST_MEMORY_KIB * 1024:
        raise UnreadableHash("a scrypt hash takes at most 1 GiB of memory")
    if len(stored) < 10 or len(stored) > 128:
        raise UnreadableHash("the hash of a scrypt hash is too short or too long")
    return ScryptHash(2**power, r, p, _base64(match["salt"]) + separator, stored, signer)


def _is_argon2(password: str, stored: Argon2Hash) -> bool:
    is_usual = stored.kind is argon2.Type.ID and stored.version == _ARGON2_VERSION and stored.cost.lanes == 1
    if is_usual and stored.salt_bytes == SALT_BYTES and stored.hash_bytes >= _MIN_SODIUM_BYTES:
        salt, digest = map(_base64, stored.text.rsplit("$", 2)[1:])
        return hmac.compare_digest(_argon2id(password, salt, stored.cost, len(digest)), digest)
    try:
        return verify_secret(stored.text.encode(), _bytes(password), stored.kind)
    except VerifyMismatchError:
        return False


def _argon2id(password: str, salt: bytes, cost: Cost, length: int) -> bytes:
    return crypto_pwhash_alg(
        length, _bytes(password), salt, cost.passes, cost.memory_kib * 1024, crypto_pwhash_ALG_ARGON2ID13
    )


def _is_scrypt(password: str, stored: ScryptHash) -> bool:
    length = len(stored.stored) if stored.signer is None else _HASH_BYTES
    digest = hashlib.scrypt(
        _bytes(password),
        salt=stored.salt,
        n=stored.n,
        r=stored.r,
        p=stored.p,
        maxmem=2 * _MOST_MEMORY_KIB * 1024 - 1,
        dklen=length,
    )
    if stored.signer is not None:
        encryptor = Cipher(algorithms.AES(digest), modes.CTR(bytes(16))).encryptor()
        digest = encryptor.update(stored.signer) + encryptor.finalize()
    return hmac.compare_digest(digest, stored.stored)


def _is_weaker(stored: StoredHash, cost: Cost) -> bool:
    """Return whether a hash is weaker than one that would be computed today."""
    if not isinstance(stored, Argon2Hash) or stored.kind is not argon2.Type.ID:
        return True
    return (
        stored.version < _ARGON2_VERSION
        or stored.cost.memory_kib < cost.memory_kib
        or stored.cost.passes < cost.passes
        or stored.salt_bytes < SALT_BYTES
        or stored.hash_bytes < _HASH_BYTES
    )


def _bytes(password: str) -> bytes:
    """Return the bytes that are hashed; an unpaired surrogate that a client sent is encoded as it is."""
    return password.encode(errors="surrogatepass")


def _bare_base64(raw: bytes) -> str:
    return base64.b64encode(raw).rstrip(b"=").decode()


def _base64(text: str) -> bytes:
    """Decode base64 of either alphabet, with or without padding."""
    usual = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(usual + "=" * (-len(usual) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableHash("a part of the password hash is not valid base64") from None
