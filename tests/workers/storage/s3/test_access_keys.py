"""Access keys in the database: for the service role alone, their secrets told once and kept sealed."""

from dataclasses import replace

import pytest

from schemas.caller import Caller
from tests.workers.storage.s3.test_credentials import KEYRING, ask, request
from tests.workers.storage.storage_pool import ALICE, ALICE_ID, ANON, StoragePool


@pytest.fixture
def s3(storage_pool: StoragePool) -> StoragePool:
    """The worker with what seals secrets."""
    return replace(storage_pool, store=replace(storage_pool.store, keyring=KEYRING))


async def test_a_key_is_made_used_listed_and_taken_away(s3: StoragePool) -> None:
    made = await s3.ok("POST", "/s3-keys")
    id, secret = made["access_key_id"], made["secret_access_key"]

    assert made["claims"] == {"role": "service_role"}
    assert (await ask(s3, request("/s3", id, secret)))[0] == 200
    kept = await s3.value("select secret from storage.s3_access_keys where access_key_id = $1", id)
    assert secret not in kept
    listed = [each for each in await s3.ok("GET", "/s3-keys") if each["access_key_id"] == id]
    assert [sorted(each) for each in listed] == [["access_key_id", "claims", "created_at"]]

    assert await s3.ok("DELETE", f"/s3-keys/{id}") == {"message": "Successfully deleted"}

    assert "InvalidAccessKeyId" in (await ask(s3, request("/s3", id, secret)))[1]
    assert id not in [each["access_key_id"] for each in await s3.ok("GET", "/s3-keys")]
    assert await s3.refused("DELETE", f"/s3-keys/{id}") == (404, "NoSuchKey", "Access key not found")


async def test_a_key_has_the_claims_it_was_given(s3: StoragePool) -> None:
    bucket = await s3.bucket()
    await s3.uploaded(f"/object/{bucket}/{ALICE_ID}/a")
    await s3.uploaded(f"/object/{bucket}/other/b")
    await s3.policy(
        bucket, "select", using="owner_id is null and (storage.foldername(name))[1] = auth.uid()::text"
    )
    await s3.admin.execute("update storage.objects set owner_id = null where bucket_id = $1", bucket)
    made = await s3.ok("POST", "/s3-keys", {"claims": {"role": "authenticated", "sub": ALICE_ID}})

    status, body = await ask(s3, request(f"/s3/{bucket}", made["access_key_id"], made["secret_access_key"]))

    assert (status, body.count("<Key>")) == (200, 1)
    await s3.ok("DELETE", f"/s3-keys/{made['access_key_id']}")


@pytest.mark.parametrize("caller", [ALICE, ANON])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/s3-keys"), ("GET", "/s3-keys"), ("DELETE", "/s3-keys/x")]
)
async def test_nobody_else_may(s3: StoragePool, caller: Caller, method: str, path: str) -> None:
    response = await s3.send(method, path, None, caller)

    assert response.status == 403
    assert b"Invalid role" in response.body


@pytest.mark.parametrize(
    "claims",
    [{}, {"role": ""}, {"role": 1}, {"role": "a\0"}, {"role": "x" * 64}, {"role": "anon", "sub": 1}, [], "x"],
)
async def test_claims_must_name_a_role(s3: StoragePool, claims: object) -> None:
    assert (await s3.refused("POST", "/s3-keys", {"claims": claims}))[:2] == (400, "InvalidRequest")


async def test_claims_are_short(s3: StoragePool) -> None:
    claims = {"role": "anon", "more": "x" * 9000}

    assert (await s3.refused("POST", "/s3-keys", {"claims": claims}))[:2] == (400, "InvalidRequest")
