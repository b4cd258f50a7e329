"""Resumable uploads: begun, continued, finished, looked at, ended; and what is refused."""

import base64
import json
import re
import uuid
from typing import Any

import msgspec
import pytest

from schemas.http import Response
from tests.workers.storage.storage_pool import ALICE, ALICE_ID, ANON, BOB, NOBODY, SERVICE, StoragePool, told
from tests.workers.storage.tus_requests import BODY, ROOT, Uploads, metadata

DATA = b"hello resumable world"
BEYOND = "The bytes go beyond Upload-Length; HEAD returns the offset and the length"


def refusal(response: Response) -> tuple[int, str]:
    """Give status and text."""
    assert told(response, "content-type") == "text/plain; charset=utf-8", response
    assert told(response, "tus-resumable") == "1.0.0"
    return response.status, response.body.decode()


async def test_upload_in_pieces_becomes_an_object(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    more = {"contentType": "text/css", "cacheControl": "60", "metadata": '{"a": 1}'}

    path = await uploads.begun(bucket, "dir/a.css", len(DATA), more=more)
    first = await uploads.patch(path, 0, DATA[:5])
    second = await uploads.patch(path, 5, DATA[5:])

    assert (first.status, told(first, "upload-offset"), told(first, "tus-complete")) == (204, "5", None)
    assert (second.status, told(second, "upload-offset"), told(second, "tus-complete")) == (204, "21", "1")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/dir/a.css") == DATA
    row = await storage_pool.row("select * from storage.objects where bucket_id = $1", bucket)
    kept = json.loads(row["metadata"])
    assert (kept["mimetype"], kept["cacheControl"], kept["size"]) == ("text/css", "max-age=60", 21)
    assert kept["eTag"] == '"f2a3f11f6dcbb9e8a2a4fa2e0a9b7e32"' or re.fullmatch(
        '"[0-9a-f]{32}"', kept["eTag"]
    )
    assert json.loads(row["user_metadata"]) == {"a": 1}


async def test_location_spells_bucket_key_and_version(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    path = await Uploads(storage_pool).begun(bucket, "ä b/c", 3)

    id = path.removeprefix(f"{ROOT}/")
    spelt = base64.urlsafe_b64decode(id + "=" * (-len(id) % 4)).decode()
    version = await storage_pool.value("select version from storage.tus_uploads where bucket_id = $1", bucket)
    assert spelt == f"{bucket}/ä b/c/{version}"


async def test_answers_name_the_version_and_the_end(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)

    begun = await uploads.create(bucket, "a", 3)
    shown = await uploads.head(told(begun, "location") or "")

    for each in (begun, shown):
        assert told(each, "tus-resumable") == "1.0.0"
        assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT", told(each, "upload-expires") or "")
        assert (
            told(each, "access-control-expose-headers") is None
        )  # the gateway has the table of exposed headers
    assert told(begun, "upload-offset") == "0"
    assert told(shown, "cache-control") == "no-store"
    assert told(shown, "upload-length") == "3"
    assert told(shown, "upload-metadata") == metadata(bucket, "a")
    assert (shown.status, told(shown, "upload-offset")) == (200, "0")


async def test_bytes_may_ride_with_the_creation(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    request = uploads.request(
        "POST", ROOT, upload_metadata=metadata(bucket, "a"), upload_length="21", content_type=BODY
    )

    part = await uploads.sent(request, DATA[:4])
    path = told(part, "location") or ""
    done = await uploads.patch(path, 4, DATA[4:])

    assert (part.status, told(part, "upload-offset")) == (201, "4")
    assert done.status == 204
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_creation_with_all_bytes_makes_the_object(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    request = uploads.request(
        "POST", ROOT, upload_metadata=metadata(bucket, "a"), upload_length="21", content_type=BODY
    )

    response = await uploads.sent(request, DATA)

    assert (response.status, told(response, "upload-offset")) == (201, "21")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_object_without_bytes_is_made_at_once(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)

    response = await uploads.sent(
        uploads.request("POST", ROOT, upload_metadata=metadata(bucket, "a"), upload_length="0"), b""
    )

    assert (response.status, told(response, "upload-offset")) == (201, "0")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b""


async def test_length_may_be_told_with_the_last_piece(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", None)

    await uploads.patch(path, 0, DATA[:4])
    shown = await uploads.head(path)
    refused = await uploads.patch(path, 4, b"", upload_length="3")
    done = await uploads.patch(path, 4, DATA[4:], upload_length="21")

    assert (told(shown, "upload-defer-length"), told(shown, "upload-length")) == ("1", None)
    assert refusal(refused) == (409, BEYOND)
    assert (done.status, told(done, "tus-complete")) == (204, "1")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_length_may_be_told_without_bytes(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", None)
    await uploads.patch(path, 0, DATA)

    done = await uploads.patch(path, 21, b"", upload_length="21")
    again = await uploads.patch(path, 21, b"", upload_length="22")

    assert told(done, "tus-complete") == "1"
    assert again.status == 204
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_length_is_told_once(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)

    assert refusal(await uploads.patch(path, 0, DATA[:1], upload_length="20")) == (
        400,
        "Upload-Length cannot be changed",
    )


async def test_piece_at_another_offset_is_refused(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA[:5])

    for offset in (0, 4, 6):
        assert refusal(await uploads.patch(path, offset, b"x")) == (409, "Upload-Offset conflict")

    assert await uploads.offset(path) == 5


async def test_finished_upload_says_so(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA)

    shown, again = await uploads.head(path), await uploads.patch(path, 21, b"")

    assert (told(shown, "upload-offset"), told(shown, "upload-expires")) == ("21", None)
    assert (again.status, told(again, "tus-complete")) == (204, "1")
    assert refusal(await uploads.patch(path, 0, b"x")) == (409, "Upload-Offset conflict")
    assert refusal(await uploads.ask("DELETE", path)) == (409, "The upload is complete")


async def test_more_bytes_than_told_are_refused(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 5)

    announced = await uploads.patch(path, 0, DATA)
    silent = await uploads.patch(path, 0, DATA, content_length=None)

    assert refusal(announced) == refusal(silent) == (409, BEYOND)
    assert await uploads.offset(path) == 0
    assert await storage_pool.count(bucket) == 0


async def test_wrong_offset_is_reported_before_a_body_that_goes_beyond_the_length(
    storage_pool: StoragePool,
) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 5)

    assert refusal(await uploads.patch(path, 3, DATA)) == (409, "Upload-Offset conflict")
    assert refusal(await uploads.patch(path, 9, b"")) == (409, "Upload-Offset conflict")
    assert await uploads.offset(path) == 0


async def test_bytes_behind_a_complete_upload_are_rejected(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA)

    assert refusal(await uploads.patch(path, 21, b"x")) == (409, BEYOND)
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


async def test_content_headers_of_the_metadata_are_stored(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    headers = {
        "contentEncoding": "gzip",
        "contentLanguage": "de",
        "contentDisposition": "inline",
        "expires": "0",
    }
    path = await uploads.begun(bucket, "a", 21, more=headers)

    await uploads.patch(path, 0, DATA)

    answer = await storage_pool.send("GET", f"/object/authenticated/{bucket}/a")
    names = ("content-encoding", "content-language", "content-disposition", "expires")
    assert [told(answer, name) for name in names] == ["gzip", "de", "inline", "0"]


async def test_content_encoding_that_is_no_list_of_codings_is_rejected(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    refused = await Uploads(storage_pool).create(bucket, "a", 21, more={"contentEncoding": "g zip"})

    assert refusal(refused) == (400, "content-encoding must be a list of content codings, such as gzip")


# --- What is refused


@pytest.mark.parametrize(
    ("headers", "status", "text"),
    [
        ({"tus_resumable": None}, 412, "Tus-Resumable Required"),
        ({"tus_resumable": "0.2.2"}, 412, "Tus-Resumable Required"),
        ({"upload_metadata": None}, 400, "Metadata header is required"),
        ({"upload_metadata": "bucketName ***"}, 400, "Upload-Metadata is malformed"),
        ({"upload_metadata": "a YQ==,a YQ=="}, 400, "Upload-Metadata is malformed"),
        ({"upload_metadata": "a YQ=="}, 400, "Upload-Metadata must have bucketName and objectName"),
        ({"upload_length": None}, 400, "Upload-Length or Upload-Defer-Length header required"),
        ({"upload_defer_length": "1"}, 400, "Upload-Length or Upload-Defer-Length header required"),
        ({"upload_length": "-1"}, 400, "Upload-Length header is not a number"),
        ({"upload_length": "9" * 19}, 400, "Upload-Length header is not a number"),
        ({"upload_length": str(6 * 1024**3)}, 413, "Maximum size exceeded"),
    ],
)
async def test_creation_that_is_malformed_is_refused(
    storage_pool: StoragePool, headers: dict[str, Any], status: int, text: str
) -> None:
    bucket = await storage_pool.bucket()

    assert refusal(await Uploads(storage_pool).create(bucket, "a", 3, **headers)) == (status, text)


async def test_creation_keeps_to_the_rules_of_its_bucket(storage_pool: StoragePool) -> None:
    bucket, uploads = (
        await storage_pool.bucket(file_size_limit=10, allowed_mime_types=["image/*"]),
        Uploads(storage_pool),
    )
    image = {"contentType": "image/png"}

    assert refusal(await uploads.create("no-such", "a", 3)) == (404, "Bucket not found")
    assert refusal(await uploads.create(bucket, "a", 3)) == (
        415,
        "mime type application/octet-stream is not supported",
    )
    assert refusal(await uploads.create(bucket, "a", 11, more=image)) == (413, "Maximum size exceeded")
    assert refusal(await uploads.create(bucket, "a/../b", 3, more=image)) == (400, "Invalid key: a/../b")
    path = await uploads.begun(bucket, "a", None, more=image)
    assert refusal(await uploads.patch(path, 0, DATA)) == (413, "Maximum size exceeded")


async def test_longer_than_a_standard_upload_is_taken(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    assert await Uploads(storage_pool).begun(bucket, "a", 300 * 1024**2)


async def test_name_that_is_taken_is_refused_unless_replaced(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    await storage_pool.uploaded(f"/object/{bucket}/a", b"old")

    assert refusal(await uploads.create(bucket, "a", 21)) == (409, "The resource already exists")
    path = await uploads.begun(bucket, "a", 21, x_upsert="true")
    await uploads.patch(path, 0, DATA)

    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA
    assert (
        await storage_pool.value("select count(*) from storage.tombstones where bucket_id = $1", bucket) == 1
    )


async def test_name_that_was_taken_meanwhile_is_refused_at_the_end(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    request = uploads.request("PATCH", path, upload_offset="0", content_type=BODY)
    first = await storage_pool.ask(request)
    assert first.grant is not None
    stored = await uploads.appended(first.grant, DATA)
    await storage_pool.uploaded(f"/object/{bucket}/a", b"faster")

    refused = await storage_pool.ask(msgspec.structs.replace(request, stored=stored))

    assert refusal(refused) == (409, "The resource already exists")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"faster"
    assert first.grant.blob.version not in await storage_pool.blob_names()
    assert refusal(await uploads.head(path)) == (409, "The resource already exists")
    await storage_pool.ok("DELETE", f"/object/{bucket}/a")
    assert await uploads.offset(path) == 21
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA


@pytest.mark.parametrize("id", ["!", "YQ", "gA", base64.urlsafe_b64encode(b"b/k\0/v").decode()])
async def test_id_that_cannot_be_read_is_refused(storage_pool: StoragePool, id: str) -> None:
    assert refusal(await Uploads(storage_pool).head(f"{ROOT}/{id}"))[0] == 400


@pytest.mark.parametrize("method", ["HEAD", "PATCH", "DELETE"])
async def test_id_without_the_uuid_of_a_version_is_of_no_upload(
    storage_pool: StoragePool, method: str
) -> None:
    id = base64.urlsafe_b64encode(b"b/k/no-uuid").decode()
    headers = {"upload_offset": "0", "content_type": "application/offset+octet-stream"}

    assert refusal(await Uploads(storage_pool).ask(method, f"{ROOT}/{id}", **headers)) == (
        404,
        "Upload not found",
    )


async def test_upload_that_is_not_there_is_refused(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    spelt = base64.urlsafe_b64encode(f"{bucket}/a/{uuid.uuid4()}".encode()).decode().rstrip("=")
    path = await uploads.begun(bucket, "a", 3)
    version = await storage_pool.value("select version from storage.tus_uploads where bucket_id = $1", bucket)
    other = base64.urlsafe_b64encode(f"{bucket}/b/{version}".encode()).decode().rstrip("=")

    assert path
    for each in (spelt, other):
        for response in (
            await uploads.head(f"{ROOT}/{each}"),
            await uploads.patch(f"{ROOT}/{each}", 0, b"x"),
            await uploads.ask("DELETE", f"{ROOT}/{each}"),
        ):
            assert refusal(response) == (404, "Upload not found")


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"content_type": "text/plain"}, "Invalid content-type"),
        ({"content_type": None}, "Invalid content-type"),
        ({"upload_offset": None}, "Upload-Offset header required"),
        ({"upload_offset": "x"}, "Upload-Offset header is not a number"),
    ],
)
async def test_piece_that_is_malformed_is_refused(
    storage_pool: StoragePool, headers: dict[str, Any], text: str
) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 3)

    assert refusal(await uploads.patch(path, 0, b"abc", **headers)) == (400, text)


# --- Who may


async def test_policies_hold_at_every_step(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert", check="owner_id = auth.uid()::text")
    alice, bob = Uploads(storage_pool, ALICE), Uploads(storage_pool, BOB)
    path = await alice.begun(bucket, "a", 21)

    assert refusal(await bob.patch(path, 0, DATA)) == (403, "new row violates row-level security policy")
    assert refusal(await bob.ask("DELETE", path)) == (403, "Access denied")
    assert refusal(await Uploads(storage_pool, ANON).create(bucket, "b", 3))[0] == 403
    assert (await alice.patch(path, 0, DATA)).status == 204
    row = await storage_pool.row(
        "select owner::text, owner_id from storage.objects where bucket_id = $1", bucket
    )
    assert tuple(row) == (ALICE_ID, ALICE_ID)


async def test_policies_see_what_is_declared(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    check = "metadata->>'mimetype' = 'image/png' and (metadata->>'contentLength')::int < 10"
    await storage_pool.policy(bucket, "insert", check=check)
    alice = Uploads(storage_pool, ALICE)

    assert await alice.begun(bucket, "a", 9, more={"contentType": "image/png"})
    assert (await alice.create(bucket, "b", 10, more={"contentType": "image/png"})).status == 403
    assert (await alice.create(bucket, "b", 9)).status == 403


async def test_policy_that_changed_meanwhile_holds(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert", check="name <> 'later' or now() > '2000-01-01'")
    alice = Uploads(storage_pool, ALICE)
    path = await alice.begun(bucket, "a", 21)
    await alice.patch(path, 0, DATA[:5])
    name = await storage_pool.value(
        "select policyname from pg_policies where schemaname = 'storage' and with_check like '%later%'"
    )
    await storage_pool.admin.execute(f'drop policy "{name}" on storage.objects')

    assert (await alice.patch(path, 5, DATA[5:])).status == 403
    assert await storage_pool.count(bucket) == 0


async def test_whoever_is_nobody_is_refused(storage_pool: StoragePool) -> None:
    bucket, nobody = await storage_pool.bucket(), Uploads(storage_pool, NOBODY, is_known=False)
    path = await Uploads(storage_pool).begun(bucket, "a", 21)
    words = "No API key found in request"

    assert refusal(await nobody.create(bucket, "b", 3)) == (401, words)
    assert refusal(await nobody.patch(path, 0, DATA)) == (401, words)
    assert refusal(await nobody.ask("DELETE", path)) == (401, words)
    assert refusal(await nobody.create(bucket, "b", 3, apikey="x")) == (
        400,
        "headers must have required property 'authorization'",
    )
    assert await nobody.offset(path) == 0


async def test_token_of_a_signed_upload_stands_for_its_owner(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    token = storage_pool.store.signer.upload(f"{bucket}/a", 60, upsert=False, owner=ALICE_ID)
    other = storage_pool.store.signer.upload(f"{bucket}/b", 60, upsert=False, owner=ALICE_ID)
    root = f"{ROOT}/sign"
    signed = Uploads(storage_pool, NOBODY, {"x_signature": token}, root, is_known=False)

    path = await signed.begun(bucket, "a", 21)
    wrong = Uploads(storage_pool, NOBODY, {"x_signature": other}, root, is_known=False)
    without = Uploads(storage_pool, NOBODY, {}, root, is_known=False)

    assert path.startswith(f"{root}/")
    assert refusal(await wrong.patch(path, 0, DATA)) == (400, "Invalid signature")
    assert refusal(await without.patch(path, 0, DATA)) == (400, "Missing x-signature header")
    assert refusal(await wrong.create(bucket, "a", 3)) == (400, "Invalid signature")
    assert (await signed.patch(path, 0, DATA)).status == 204
    assert (
        await storage_pool.value("select owner_id from storage.objects where bucket_id = $1", bucket)
        == ALICE_ID
    )
    assert refusal(await signed.create(bucket, "a", 3)) == (409, "The resource already exists")


# --- The end before its time


async def test_terminated_upload_leaves_nothing(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)
    path = await uploads.begun(bucket, "a", 21)
    await uploads.patch(path, 0, DATA[:5])
    version = await storage_pool.value("select version from storage.tus_uploads where bucket_id = $1", bucket)

    ended = await uploads.ask("DELETE", path)

    assert ended.status == 204
    assert await storage_pool.blobs.appended(version) == 0
    assert refusal(await uploads.head(path)) == (404, "Upload not found")


async def test_service_ends_what_others_began(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert")
    path = await Uploads(storage_pool, ALICE).begun(bucket, "a", 21)

    assert (await Uploads(storage_pool, SERVICE).ask("DELETE", path)).status == 204


async def test_first_bytes_beyond_the_length_create_nothing(storage_pool: StoragePool) -> None:
    bucket, uploads = await storage_pool.bucket(), Uploads(storage_pool)

    refused = await uploads.create(bucket, "a", 5, content_type=BODY, content_length="21")

    assert refusal(refused) == (413, "Maximum size exceeded")
    assert (
        await storage_pool.value("select count(*) from storage.tus_uploads where bucket_id = $1", bucket) == 0
    )
