"""Calls on buckets, lists, folders, pictures, batches and resumable uploads: who gets what, for each of five callers.

`test_policies.py` has the calls on one object. Here Alice has every policy on one bucket, Bob and the anonymous role have none,
the service role needs none, and an API key alone is nobody.
"""

import json
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from schemas.caller import Caller
from schemas.http import Response
from tests.workers.images.samples import png
from tests.workers.storage.storage_pool import ALICE, ALICE_ID, ANON, BOB, NOBODY, SERVICE, StoragePool, told
from tests.workers.storage.tus_requests import Uploads

Act = Callable[[StoragePool, str, Caller], Awaitable[bool]]
"""Gives whether the caller got what the call is for."""
PICTURE = png(8, 8)
_STATE = """
select json_build_object(
  'bucket', (select json_build_array(public, file_size_limit) from storage.buckets where id = $1),
  'objects', (select json_agg(name order by name) from storage.objects where bucket_id = $1)
)::text
"""


async def asked(
    storage_pool: StoragePool, bucket: str, caller: Caller, method: str, target: str, body: object = None
) -> Response:
    """Send a request in which `BUCKET` stands for the bucket."""
    own = json.loads(json.dumps(body).replace("BUCKET", bucket))
    return await storage_pool.send(
        method, target.replace("BUCKET", bucket), own, caller, is_known=caller is not NOBODY
    )


def does(method: str, target: str, body: object = None) -> Act:
    """Give a call that is done or refused."""

    async def act(storage_pool: StoragePool, bucket: str, caller: Caller) -> bool:
        response = await asked(storage_pool, bucket, caller, method, target, body)
        assert response.status in (200, 400), response
        return response.status == 200

    return act


def finds(method: str, target: str, body: object, *path: str) -> Act:
    """Give a call that is refused only to who is nobody; others get as much as they may, which may be nothing."""

    async def act(storage_pool: StoragePool, bucket: str, caller: Caller) -> bool:
        response = await asked(storage_pool, bucket, caller, method, target, body)
        assert response.status == (400 if caller is NOBODY else 200), response
        found = json.loads(response.body)
        for name in path if caller is not NOBODY else ():
            found = found[name]
        return caller is not NOBODY and bool(found)

    return act


async def shows_bucket(storage_pool: StoragePool, bucket: str, caller: Caller) -> bool:
    response = await asked(storage_pool, bucket, caller, "GET", "/bucket")
    return response.status == 200 and bucket in [each["id"] for each in json.loads(response.body)]


async def signs_many(storage_pool: StoragePool, bucket: str, caller: Caller) -> bool:
    body = {"expiresIn": 60, "paths": ["f/there"]}
    response = await asked(storage_pool, bucket, caller, "POST", "/object/sign/BUCKET", body)
    return response.status == 200 and json.loads(response.body)[0]["signedURL"] is not None


async def deletes_bucket(storage_pool: StoragePool, bucket: str, caller: Caller) -> bool:
    await storage_pool.ok("DELETE", f"/object/{bucket}", {"prefixes": ["f/there"]})
    response = await asked(storage_pool, bucket, caller, "DELETE", "/bucket/BUCKET")
    if response.status != 200:
        await storage_pool.uploaded(f"/object/{bucket}/f/there", PICTURE, content_type="image/png")
    return response.status == 200


async def resumes(storage_pool: StoragePool, bucket: str, caller: Caller) -> bool:
    uploads = Uploads(storage_pool, caller, is_known=caller is not NOBODY)
    begun = await uploads.create(bucket, "f/new", 3)
    if begun.status != 201:
        return False
    return (await uploads.patch(told(begun, "location") or "", 0, b"abc")).status == 204


async def goes_on_with_anothers(storage_pool: StoragePool, bucket: str, caller: Caller) -> bool:
    location = await Uploads(storage_pool).begun(bucket, "f/new", 3)
    uploads = Uploads(storage_pool, caller, is_known=caller is not NOBODY)
    try:
        return (await uploads.patch(location, 0, b"abc")).status == 204
    finally:
        await Uploads(storage_pool).ask("DELETE", location)


CALLS: dict[str, Act] = {
    "list buckets": shows_bucket,
    "show a bucket": does("GET", "/bucket/BUCKET"),
    "size of a bucket": does("GET", "/bucket/BUCKET/size"),
    "make a bucket": does("POST", "/bucket", {"name": "BUCKET-more"}),
    "change a bucket": does("PUT", "/bucket/BUCKET", {"file_size_limit": 1000}),
    "delete a bucket": deletes_bucket,
    "list": finds("POST", "/object/list/BUCKET", {"prefix": "f"}),
    "list deep": finds("POST", "/object/list/BUCKET", {"prefix": "", "recursive": True}),
    "list again": finds("POST", "/object/list-v2/BUCKET", {"with_delimiter": True}, "folders"),
    "list flat": finds("POST", "/object/list-v2/BUCKET", {}, "objects"),
    "sign many": signs_many,
    "render": does("GET", "/render/image/authenticated/BUCKET/f/there?width=4"),
    "look at the head": does("HEAD", "/object/authenticated/BUCKET/f/there"),
    "delete many": finds("DELETE", "/object/BUCKET", {"prefixes": ["f/there"]}),
    "delete a folder": finds("DELETE", "/object/BUCKET", {"prefix": "f", "recursive": True}, "count"),
    "rename a folder": does(
        "POST", "/object/move", {"bucketId": "BUCKET", "sourcePrefix": "f", "destinationPrefix": "g"}
    ),
    "resume": resumes,
    "go on with another's upload": goes_on_with_anothers,
}


async def filled(storage_pool: StoragePool, *, has_policies: bool = True) -> str:
    """Make a bucket with a picture in it, and give Alice every policy on it."""
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/f/there", PICTURE, content_type="image/png")
    if not has_policies:
        return bucket
    for command in ("select", "insert", "update", "delete"):
        await storage_pool.policy(bucket, command, "public", using=f"auth.uid() = '{ALICE_ID}'")
        mine = f"(id like '{bucket}%' and auth.uid() = '{ALICE_ID}')"
        clauses = {"insert": f"with check {mine}", "update": f"using {mine} with check {mine}"}
        await storage_pool.admin.execute(
            f"create policy p_{uuid4().hex} on storage.buckets for {command} to public "
            f"{clauses.get(command, f'using {mine}')}"
        )
    return bucket


@pytest.mark.parametrize("name", CALLS)
async def test_who_has_no_policy_gets_nothing_and_changes_nothing(
    storage_pool: StoragePool, name: str
) -> None:
    own, bare = await filled(storage_pool), await filled(storage_pool, has_policies=False)
    for bucket, callers in ((own, (BOB, ANON, NOBODY)), (bare, (ALICE, BOB, ANON, NOBODY))):
        before = await storage_pool.value(_STATE, bucket)
        for caller in callers:
            assert not await CALLS[name](storage_pool, bucket, caller), caller
        assert await storage_pool.value(_STATE, bucket) == before


@pytest.mark.parametrize("name", CALLS)
async def test_who_has_every_policy_and_the_service_get_all(storage_pool: StoragePool, name: str) -> None:
    for caller in (ALICE, SERVICE):
        bucket = await filled(storage_pool)
        assert await CALLS[name](storage_pool, bucket, caller), caller
