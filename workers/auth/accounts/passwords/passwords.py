"""Password hashes: make ours, check ours and those of imported users. No threads here; `hashing.py` has them.

Stored texts that are read:

    $argon2id$v=19$m=19456,t=2,p=1$salt$hash                            ours; argon2i and version 16 too
    $2a$10$...   $2b$...   $2y$...                                      bcrypt
    $fbscrypt$v=1,n=14,r=8,p=1,ss=<base64>,sk=<base64>$salt$hash        Firebase: n is a power of two, sk the signer key
    $scrypt$ln=14,r=8,p=1$salt$hash                                     scrypt as others store it

Costs are bounded before any work is done, for a hash may be imported by who means harm. Nothing here shows a hash or
a password.

argon2id of one lane is made by libsodium, which uses the widest instructions that the processor has; the reference
implementation, as argon2-cffi brings it, knows SSE2 only and makes the rest: argon2i, several lanes, other salts.
Source: reference page "auth", section 19; architecture, decision 16; RFC 9106, 7914.
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
_LEAST_OF_SODIUM = 16
"""Bytes of the shortest hash that libsodium makes."""
_ARGON2_VERSION = 19
_BCRYPT_BYTES = 72
_MOST_MEMORY_KIB = 1024 * 1024
_MOST_PASSES = 20
_MOST_LANES = 16
_MOST_BCRYPT_COST = 16
_MOST_TEXT = 1024

_ARGON2 = re.compile(
    r"\$argon2(?P<kind>i|id)\$v=(?P<version>16|19)\$m=(?P<m>[0-9]{1,9}),t=(?P<t>[0-9]{1,5}),p=(?P<p>[0-9]{1,5})"
    r"\$(?P<salt>[A-Za-z0-9+/]+)=*\$(?P<hash>[A-Za-z0-9+/]+)=*"
)
_BCRYPT = re.compile(r"\$2[aby]\$(?P<cost>[0-9]{2})\$[./A-Za-z0-9]{53}")
_FIREBASE = re.compile(
    r"\$fbscrypt\$v=1,n=(?P<n>[0-9]{1,2}),r=(?P<r>[0-9]{1,5}),p=(?P<p>[0-9]{1,5})"
    r"(?:,ss=(?P<separator>[^,$]*))?,sk=(?P<key>[^,$]+)\$(?P<salt>[^$]*)\$(?P<hash>[^$]+)"
)
_SCRYPT = re.compile(
    r"\$scrypt\$ln=(?P<n>[0-9]{1,2}),r=(?P<r>[0-9]{1,5}),p=(?P<p>[0-9]{1,5})\$(?P<salt>[^$]*)\$(?P<hash>[^$]+)"
)


class UnreadableHash(ValueError):
    """A stored or imported text is no password hash of a known kind, or its cost is beyond the bounds."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one hash costs: memory in KiB, passes over it, lanes that share it."""

    memory_kib: int = 19456
    passes: int = 2
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a password is the right one, and whether its hash is due to be made anew at today's cost."""

    is_right: bool
    wants_rehash: bool = False


@dataclass(frozen=True, slots=True)
class Argon2Hash:
    """A hash of argon2i or argon2id. `text` has no padding, as the library wants it."""

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
    """A hash of scrypt. With a `signer`, Firebase's: the derived key encrypts the signer key, and that is stored."""

    n: int
    r: int
    p: int
    salt: bytes = field(repr=False)
    stored: bytes = field(repr=False)
    signer: bytes | None = field(default=None, repr=False)


StoredHash = Argon2Hash | BcryptHash | ScryptHash


def hash_password(password: str, cost: Cost, salt: bytes) -> str:
    """Make the text that is stored. `salt` is 16 bytes of the system's random source, fresh each time."""
    if cost.lanes == 1 and len(salt) == SALT_BYTES:
        made = _argon2id(password, salt, cost, _HASH_BYTES)
        costs = f"m={cost.memory_kib},t={cost.passes},p=1"
        return f"$argon2id$v={_ARGON2_VERSION}${costs}${_bare_base64(salt)}${_bare_base64(made)}"
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
    """Check a password against a hash; `cost` is today's, below which a hash wants to be made anew."""
    match stored:
        case Argon2Hash():
            is_right = _is_argon2(password, stored)
        case BcryptHash():
            # What bcrypt does not look at, its own implementations cut off; so do we, or such users could not sign in.
            is_right = bcrypt.checkpw(_bytes(password)[:_BCRYPT_BYTES], stored.text.encode())
        case ScryptHash():
            is_right = _is_scrypt(password, stored)
    return Verdict(is_right, is_right and _is_weaker(stored, cost))


def read_hash(text: str) -> StoredHash:
    """Read a stored or imported hash.

    Raises: UnreadableHash for any other text, and for costs beyond 1 GiB of memory, 20 passes, 16 lanes, bcrypt's 16.
    """
    if len(text) > _MOST_TEXT:
        raise UnreadableHash("the text is too long for a password hash")
    if found := _ARGON2.fullmatch(text):
        return _argon2_hash(found)
    if found := _BCRYPT.fullmatch(text):
        if not 4 <= int(found["cost"]) <= _MOST_BCRYPT_COST:
            raise UnreadableHash(f"the cost of a bcrypt hash is 4 to {_MOST_BCRYPT_COST}")
        return BcryptHash(text)
    if found := _FIREBASE.fullmatch(text):
        return _scrypt_hash(found, _base64(found["separator"] or ""), _base64(found["key"]))
    if found := _SCRYPT.fullmatch(text):
        return _scrypt_hash(found, b"", None)
    raise UnreadableHash("not a password hash of a known kind")


def _argon2_hash(found: re.Match[str]) -> Argon2Hash:
    cost = Cost(int(found["m"]), int(found["t"]), int(found["p"]))
    if not (1 <= cost.lanes <= _MOST_LANES and 8 * cost.lanes <= cost.memory_kib <= _MOST_MEMORY_KIB):
        raise UnreadableHash("an argon2 hash has 1 to 16 lanes, and 8 KiB for each to 1 GiB of memory")
    if not 1 <= cost.passes <= _MOST_PASSES:
        raise UnreadableHash(f"an argon2 hash has 1 to {_MOST_PASSES} passes")
    kind = argon2.Type.ID if found["kind"] == "id" else argon2.Type.I
    salt, made = found["salt"], found["hash"]
    text = f"{found[0].rpartition('$')[0].rpartition('$')[0]}${salt}${made}"
    salt_raw, made_raw = _base64(salt), _base64(made)
    if len(salt_raw) < 8 or len(made_raw) < 12:
        raise UnreadableHash("the salt or the hash of an argon2 hash is too short")
    for raw, spelled in ((salt_raw, salt), (made_raw, made)):
        if _bare_base64(raw) != spelled:  # the library refuses them
            raise UnreadableHash("the base64 of an argon2 hash has bits that mean nothing")
    return Argon2Hash(kind, int(found["version"]), cost, len(salt_raw), len(made_raw), text)


def _scrypt_hash(found: re.Match[str], separator: bytes, signer: bytes | None) -> ScryptHash:
    power, r, p = int(found["n"]), int(found["r"]), int(found["p"])
    stored = _base64(found["hash"])
    if not (1 <= power < min(31, 16 * r) and 1 <= p <= _MOST_LANES):
        raise UnreadableHash("a scrypt hash has n of 2 to 2^30, below 2^(16 r), and 1 to 16 lanes")
    if (r << power) * 128 > _MOST_MEMORY_KIB * 1024:
        raise UnreadableHash("a scrypt hash takes at most 1 GiB of memory")
    if len(stored) < 10 or len(stored) > 128:
        raise UnreadableHash("the hash of a scrypt hash is too short or too long")
    return ScryptHash(2**power, r, p, _base64(found["salt"]) + separator, stored, signer)


def _is_argon2(password: str, stored: Argon2Hash) -> bool:
    is_usual = stored.kind is argon2.Type.ID and stored.version == _ARGON2_VERSION and stored.cost.lanes == 1
    if is_usual and stored.salt_bytes == SALT_BYTES and stored.hash_bytes >= _LEAST_OF_SODIUM:
        salt, made = map(_base64, stored.text.rsplit("$", 2)[1:])
        return hmac.compare_digest(_argon2id(password, salt, stored.cost, len(made)), made)
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
    made = hashlib.scrypt(
        _bytes(password),
        salt=stored.salt,
        n=stored.n,
        r=stored.r,
        p=stored.p,
        maxmem=2 * _MOST_MEMORY_KIB * 1024 - 1,
        dklen=length,
    )
    if stored.signer is not None:
        encryptor = Cipher(algorithms.AES(made), modes.CTR(bytes(16))).encryptor()
        made = encryptor.update(stored.signer) + encryptor.finalize()
    return hmac.compare_digest(made, stored.stored)


def _is_weaker(stored: StoredHash, cost: Cost) -> bool:
    """Tell whether a hash is below what we would make today."""
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
    """Give the bytes that are hashed; half a character that a client sent is kept as it is."""
    return password.encode(errors="surrogatepass")


def _bare_base64(raw: bytes) -> str:
    return base64.b64encode(raw).rstrip(b"=").decode()


def _base64(text: str) -> bytes:
    """Decode base64 of either alphabet, with its padding or without."""
    usual = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(usual + "=" * (-len(usual) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableHash("a part of the password hash is not valid base64") from None
