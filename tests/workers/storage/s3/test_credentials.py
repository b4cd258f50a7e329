"""Stored keys, public keys, the public address: the caller of a signature, without a gateway."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from schemas.http import Request, Response
from schemas.keys.secret import Secret
from schemas.keys.text_sealer import TextSealer
from schemas.settings.storage import S3Protocol
from tests.workers.storage.storage_pool import ALICE, ALICE_ID, NOBODY, StoragePool
from workers.storage.model.s3_keyring import S3Keyring
from workers.storage.s3.credentials import create_key
from workers.storage.s3.protocol import sigv4
from workers.storage.s3.protocol.sigv4 import SignatureClaim

HOST = "storage.example.org"
EMPTY = hashlib.sha256(b"").hexdigest()
KEYRING = S3Keyring(
    "project",
    (Secret("anon key"), Secret("sb_publishable_x")),
    TextSealer(b"access keys", (b"platform secret",)),
)
SIGNED = ("host", "x-amz-content-sha256", "x-amz-date")


@pytest.fixture
def s3(storage_pool: StoragePool) -> StoragePool:
    """The worker with keys, a configured pair, and an address behind a proxy."""
    own = storage_pool.having(
        s3_protocol=S3Protocol(access_key_id=Secret("pair"), secret_access_key=Secret("of the pair")),
        public_url="https://public.example.org/base/storage/v1",
    )
    return replace(own, store=replace(own.store, keyring=KEYRING))


def request(
    target: str, id: str, secret: str, *, token: str = "", path: str = "/storage/v1", host: str = HOST
) -> Request:
    """Make a signed request as the edge passes it on; it was signed for `path` and `host`."""
    now = datetime.now(UTC)
    plain, _, query = target.partition("?")
    headers = {"host": host, "x-amz-date": f"{now:%Y%m%dT%H%M%SZ}", "x-amz-content-sha256": EMPTY}
    if token:
        headers["x-amz-security-token"] = token
    names = tuple(sorted(headers))
    claimed = SignatureClaim(id, f"{now:%Y%m%d}", "us-east-1", names, "", headers["x-amz-date"], EMPTY)
    pairs = [(name, value) for name, _, value in (part.partition("=") for part in query.split("&")) if name]
    spelled = sigv4.canonical_request("GET", path + plain, pairs, headers, names, EMPTY)
    key = sigv4.signing_key(secret, claimed.day, "us-east-1")
    signature = sigv4.signature(key, sigv4.string_to_sign(claimed.date, claimed.scope, spelled))
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={id}/{claimed.scope}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    sent = [*headers.items()]
    sent[0] = ("host", HOST)
    return Request("r", "GET", plain, query, sent, NOBODY)


async def ask(s3: StoragePool, asked: Request) -> tuple[int, str]:
    answer: Response = await s3.ask(asked)
    return answer.status, answer.body.decode()


async def test_a_stored_key_has_its_own_claims(s3: StoragePool) -> None:
    bucket = await s3.bucket()
    await s3.uploaded(f"/object/{bucket}/{ALICE_ID}/a")
    await s3.uploaded(f"/object/{bucket}/other/b")
    await s3.policy(bucket, "select", using="(storage.foldername(name))[1] = auth.uid()::text")
    claims: dict[str, object] = {"role": "authenticated", "sub": ALICE_ID}
    await create_key(s3.store, KEYRING, "stored-key", "its secret", claims)

    status, body = await ask(s3, request(f"/s3/{bucket}", "stored-key", "its secret"))

    assert (status, body.count("<Key>"), f"<Key>{ALICE_ID}/a</Key>" in body) == (200, 1, True)
    kept = await s3.value("select secret from storage.s3_access_keys where access_key_id = 'stored-key'")
    assert "its secret" not in kept
    assert (await ask(s3, request(f"/s3/{bucket}", "stored-key", "another")))[0] == 403
    await s3.admin.execute(
        "update storage.s3_access_keys set access_key_id = 'moved-key' where access_key_id = 'stored-key'"
    )
    assert "InvalidAccessKeyId" in (await ask(s3, request("/s3", "moved-key", "its secret")))[1]
    await s3.admin.execute("delete from storage.s3_access_keys")


async def test_a_revoked_key_is_no_key(s3: StoragePool) -> None:
    await create_key(s3.store, KEYRING, "gone-key", "its secret", {"role": "service_role"})
    assert (await ask(s3, request("/s3", "gone-key", "its secret")))[0] == 200

    await s3.admin.execute("update storage.s3_access_keys set revoked_at = now()")

    assert "InvalidAccessKeyId" in (await ask(s3, request("/s3", "gone-key", "its secret")))[1]


@pytest.mark.parametrize("secret", ["anon key", "sb_publishable_x"])
async def test_every_public_key_is_a_secret_of_session_tokens(s3: StoragePool, secret: str) -> None:
    asked = msgspec.structs.replace(request("/s3", "project", secret, token="t"), caller=ALICE)

    assert (await ask(s3, asked))[0] == 200
    nobody = msgspec.structs.replace(asked, caller=NOBODY)
    assert "InvalidToken" in (await ask(s3, nobody))[1]


async def test_the_public_address_may_have_been_signed(s3: StoragePool) -> None:
    public = request("/s3", "pair", "of the pair", path="/base/storage/v1", host="public.example.org")
    other = request("/s3", "pair", "of the pair", path="/storage/v1", host="other.example.org")

    assert (await ask(s3, public))[0] == 200
    assert "SignatureDoesNotMatch" in (await ask(s3, other))[1]


@pytest.mark.parametrize("prefix", ["/%733", "/s%33", "/%73%33"])
async def test_the_prefix_must_not_be_encoded(s3: StoragePool, prefix: str) -> None:
    """Otherwise the gateway takes the request for none of S3, and holds no body against its hash."""
    status, body = await ask(s3, request(f"{prefix}/bucket/key", "pair", "of the pair"))

    assert (status, "<Code>InvalidURI</Code>" in body) == (400, True)


async def test_it_can_be_switched_off(s3: StoragePool) -> None:
    off = s3.having(s3_protocol=S3Protocol(enabled=False))

    assert "FeatureNotEnabled" in (await ask(off, request("/s3", "pair", "of the pair")))[1]


async def test_secrets_do_not_show_themselves(s3: StoragePool) -> None:
    assert "platform secret" not in repr(KEYRING)
    assert "anon key" not in repr(KEYRING)
