"""Accounts that admins bring along with the hash of their password. Reference, sections 16.2 and 19."""

import base64
import hashlib
import uuid

import argon2.low_level as low
import bcrypt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.workers.auth.auth_pool import PASSWORD, AuthPool
from tests.workers.auth.test_admin_users import changed, made, sign_in_refused
from workers.credentials.password_hashes import Cost, hash_password


def argon2(variant: str) -> str:
    """Return the hash of another system; this argon2id costs less than ours."""
    if variant == "argon2id":
        return hash_password(PASSWORD, Cost(memory_kib=32, passes=1), b"0123456789abcdef")
    return low.hash_secret(PASSWORD.encode(), b"0123456789abcdef", 2, 64, 1, 32, low.Type.I).decode()


def bcrypted() -> str:
    return bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


def fbscrypted() -> str:
    """Make the hash that Firebase exports: AES-CTR of the signer key, keyed by scrypt of the password."""
    salt, separator, signer = (
        b"a salt of theirs",
        b"\x07",
        b"the signer key of a project, 64 bytes or so........",
    )
    key = hashlib.scrypt(PASSWORD.encode(), salt=salt + separator, n=2**10, r=8, p=1, dklen=32)
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    parts = [base64.b64encode(each).decode() for each in (separator, signer, salt, encryptor.update(signer))]
    return f"$fbscrypt$v=1,n=10,r=8,p=1,ss={parts[0]},sk={parts[1]}${parts[2]}${parts[3]}"


IMPORTED = {
    "bcrypt": bcrypted, "argon2i": lambda: argon2("argon2i"), "argon2id": lambda: argon2("argon2id"),
    "fbscrypt": fbscrypted,
}  # fmt: skip


@pytest.mark.parametrize("kind", IMPORTED)
@pytest.mark.parametrize("way", ["made", "changed"])
async def test_hashes_of_other_systems_are_taken_and_renewed_at_the_first_sign_in(
    auth_pool: AuthPool, kind: str, way: str
):
    digest = IMPORTED[kind]()
    user = await made(auth_pool, email_confirm=True, **({"password_hash": digest} if way == "made" else {}))
    if way == "changed":
        await changed(auth_pool, user["id"], password_hash=digest)
    id = uuid.UUID(user["id"])
    assert await auth_pool.value("select encrypted_password from auth.users where id = $1", id) == digest
    assert (await sign_in_refused(auth_pool, email=user["email"], password="wrong one"))[
        1
    ] == "invalid_credentials"

    for _ in range(2):
        assert (await auth_pool.sign_in(user["email"])).id == user["id"]

    kept = await auth_pool.value("select encrypted_password from auth.users where id = $1", id)
    assert kept.startswith("$argon2id$v=19$m=64,t=1,p=1$")
