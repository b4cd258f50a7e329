"""Uploads whose bytes were stored under an allowance: one call writes the row, the policies decide, and no version is another's."""

import asyncio
import uuid

import msgspec
import pytest

from broker.blobs import blob_names
from schemas.blobs import LARGEST_ALLOWED, StoredBody, UploadAllowance
from schemas.caller import Caller
from schemas.http import Request, Response
from services.gateway.objects.upload_allowances import allowed_version
from tests.workers.storage.storage_pool import (
    ALICE,
    ALICE_ID,
    BOB,
    SERVICE,
    StoragePool,
    refusal,
    request_of,
    shown,
)

DATA = b"hello world"
_POLICY = "new row violates row-level security policy"
_TRIALS = "select last_value from storage.events_outbox_id_seq"
"""A sequence counts writes that were rolled back, too."""


def upload_of(target: str, caller: Caller = SERVICE, *, method: str = "POST", **headers: str) -> Request:
    """Return the head of an upload."""
    sent = {"content_length": str(len(DATA)), "content_type": "text/plain", **headers}
    return request_of(method, target, None, caller, **sent)


async def granted(
    storage_pool: StoragePool, target: str, caller: Caller = SERVICE, **headers: str
) -> UploadAllowance | None:
    """Return the allowance of an upload that is granted."""
    response = await storage_pool.ask(upload_of(target, caller, **headers))
    assert response.grant is not None, response
    return response.grant.allowance


async def allowance_of(storage_pool: StoragePool, bucket: str, caller: Caller = SERVICE) -> UploadAllowance:
    allowance = await granted(storage_pool, f"/object/{bucket}/first", caller)
    assert allowance is not None
    return allowance


async def stored(
    storage_pool: StoragePool, allowance: UploadAllowance, request: Request, version: str = ""
) -> Response:
    """Store bytes as the gateway does, and send the one request."""
    version = version or allowed_version(allowance, 7.0)
    place = blob_names.blob(allowance.bucket, version)
    async with storage_pool.blobs.stage(place, limit=allowance.most) as staging:
        await staging.write(DATA)
        blob = await staging.finish_in_place()
    body = StoredBody(allowance.ticket, blob.size, blob.md5, version=version)
    return await storage_pool.ask(msgspec.structs.replace(request, stored=body))


async def test_one_call_writes_the_row_of_the_stored_version(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)

    responses = [
        await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/{name}")) for name in "ab"
    ]

    assert [response.status for response in responses] == [200, 200]
    assert shown(responses[0])["Key"] == f"{bucket}/a"
    assert await storage_pool.got(f"/object/authenticated/{bucket}/b") == DATA
    first, second = [await storage_pool.version(bucket, name) for name in "ab"]
    assert first is not None
    assert second is not None
    assert first != second
    assert first[:13] == second[:13] == f"07{allowance.series}"


async def test_an_allowance_is_for_short_objects(storage_pool: StoragePool) -> None:
    free, limited = await storage_pool.bucket(), await storage_pool.bucket(file_size_limit=50)

    assert (await allowance_of(storage_pool, free)).most == LARGEST_ALLOWED
    assert (await allowance_of(storage_pool, limited)).most == 50


@pytest.mark.parametrize("command", ["PUT", "POST"])
async def test_policies_are_tried_once_and_not_for_the_service_role(
    storage_pool: StoragePool, command: str
) -> None:
    bucket = await storage_pool.bucket()
    for name in ("insert", "select", "update"):
        await storage_pool.policy(bucket, name)
    counts = []
    for caller in (SERVICE, ALICE):
        allowance = await allowance_of(storage_pool, bucket, caller)
        before = await storage_pool.value(_TRIALS)
        request = upload_of(f"/object/{bucket}/{len(counts)}", caller, method=command)
        assert (await stored(storage_pool, allowance, request)).status == 200
        counts.append(await storage_pool.value(_TRIALS) - before)

    assert counts == [1, 2]


@pytest.mark.parametrize(
    ("check", "key", "is_allowed"),
    [
        ("path_tokens[1] = 'mine' or name = 'first'", "mine/a", True),
        ("path_tokens[1] = 'mine' or name = 'first'", "yours/a", False),
        (f"owner_id = '{ALICE_ID}'", "a", True),
        ("(metadata ->> 'contentLength')::int = 11", "a", True),
        ("storage.operation() = 'storage.object.upload'", "a", True),
    ],
)
async def test_policies_decide_about_each_upload(
    storage_pool: StoragePool, check: str, key: str, *, is_allowed: bool
) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert", check=check)
    allowance = await allowance_of(storage_pool, bucket, ALICE)

    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/{key}", ALICE))

    assert (response.status == 200, response.grant) == (is_allowed, None)
    assert await storage_pool.count(bucket) == int(is_allowed)
    if not is_allowed:
        assert refusal(response) == (403, "AccessDenied", _POLICY)


async def test_a_policy_that_is_gone_rejects_the_next_upload(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert")
    allowance = await allowance_of(storage_pool, bucket, ALICE)
    names = await storage_pool.admin.fetch(
        "select policyname from pg_policies where with_check like '%' || $1 || '%'", bucket
    )
    for row in names:
        await storage_pool.admin.execute(f"drop policy {row[0]} on storage.objects")

    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a", ALICE))

    assert refusal(response) == (403, "AccessDenied", _POLICY)


async def test_an_existing_name_is_a_duplicate_and_stays(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", b"first")

    response = await stored(
        storage_pool, await allowance_of(storage_pool, bucket), upload_of(f"/object/{bucket}/a")
    )

    assert refusal(response)[:2] == (409, "KeyAlreadyExists")
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"first"


async def test_an_upsert_replaces_the_bytes(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a", b"first")
    old = await storage_pool.version(bucket, "a")

    allowance = await allowance_of(storage_pool, bucket)
    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a", x_upsert="true"))

    assert response.status == 200
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == DATA
    assert (
        await storage_pool.value("select reason from storage.tombstones where version = $1", old)
        == "replaced"
    )


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ("file_size_limit = 10", (413, "EntityTooLarge")),
        ("allowed_mime_types = '{image/png}'", (415, "InvalidMimeType")),
    ],
)
async def test_rules_that_changed_apply(
    storage_pool: StoragePool, change: str, refused: tuple[int, str]
) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)
    await storage_pool.admin.execute(f"update storage.buckets set {change} where id = '{bucket}'")

    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a"))

    assert refusal(response)[:2] == refused
    assert await storage_pool.count(bucket) == 0


async def test_rules_that_changed_and_still_allow_it_take_a_grant(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)
    await storage_pool.admin.execute("update storage.buckets set file_size_limit = 50 where id = $1", bucket)

    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a"))

    assert response.grant is not None
    assert response.grant.allowance is not None
    assert response.grant.allowance.most == 50


async def test_a_quota_ends_allowances(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)
    await storage_pool.admin.execute("insert into storage.quotas (bucket_id, size) values ($1, 15)", bucket)

    assert await granted(storage_pool, f"/object/{bucket}/a") is None
    answers = [await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/{name}")) for name in "ab"]

    assert refusal(answers[1])[:2] == (413, "QuotaExceeded")
    assert await storage_pool.count(bucket) <= 1


async def test_a_condition_takes_two_steps(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)

    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a", if_none_match="*"))

    assert response.grant is not None
    assert response.grant.allowance is None
    assert await storage_pool.count(bucket) == 0


async def test_a_bucket_that_is_gone_is_not_found(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)
    await storage_pool.ok("DELETE", f"/bucket/{bucket}")

    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a"))

    assert refusal(response)[:2] == (404, "NoSuchBucket")


async def test_a_name_that_is_not_allowed_is_reported_as_before(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)

    response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a%5C..%5Cb"))

    assert refusal(response)[:2] == (400, "InvalidKey")


# --- What a ticket is not good for ---------------------------------------------------------------------------------


async def assert_not_written(storage_pool: StoragePool, bucket: str, response: Response) -> None:
    assert response.grant is not None, "in two steps it is allowed"
    assert await storage_pool.version(bucket, "a") is None


async def test_a_version_outside_the_series_is_not_written(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/other", b"of another one")
    allowance, second = [await allowance_of(storage_pool, bucket) for _ in range(2)]
    good = allowed_version(allowance, 7.0)

    for version in (
        await storage_pool.version(bucket, "other") or "",
        allowed_version(second, 7.0),
        good.upper() if good.upper() != good else f"{{{good}}}",
        f"{good}0",
        f"07{allowance.series}",
        f"07{allowance.series}/../x",
    ):
        body = StoredBody(allowance.ticket, len(DATA), "0" * 32, version=version)
        request = msgspec.structs.replace(upload_of(f"/object/{bucket}/a"), stored=body)
        await assert_not_written(storage_pool, bucket, await storage_pool.ask(request))
    assert await storage_pool.got(f"/object/authenticated/{bucket}/other") == b"of another one"


async def test_an_allowance_of_another_bucket_or_caller_writes_nothing(storage_pool: StoragePool) -> None:
    bucket, other = await storage_pool.bucket(), await storage_pool.bucket()
    for name in (bucket, other):
        await storage_pool.policy(name, "insert")
    for allowance in (
        await allowance_of(storage_pool, other, ALICE),
        await allowance_of(storage_pool, bucket, BOB),
        await allowance_of(storage_pool, bucket, SERVICE),
    ):
        response = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a", ALICE))

        await assert_not_written(storage_pool, bucket, response)


async def test_an_old_or_forged_ticket_writes_nothing(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)
    late = storage_pool.at(storage_pool.clock)
    late.clock.ahead_s = 3600
    response = await storage_pool.ask(upload_of(f"/object/{bucket}/a"))
    assert response.grant is not None

    try:
        await assert_not_written(
            late, bucket, await stored(late, allowance, upload_of(f"/object/{bucket}/a"))
        )
    finally:
        late.clock.ahead_s = 0
    for ticket in (b"", b"x" * 100, allowance.ticket[:-1], response.grant.ticket):
        forged = msgspec.structs.replace(allowance, ticket=ticket)
        response = await stored(storage_pool, forged, upload_of(f"/object/{bucket}/a"))
        await assert_not_written(storage_pool, bucket, response)


async def test_the_ticket_of_an_allowance_is_not_that_of_a_grant(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)
    body = StoredBody(allowance.ticket, len(DATA), "0" * 32)

    response = await storage_pool.ask(msgspec.structs.replace(upload_of(f"/object/{bucket}/a"), stored=body))

    assert refusal(response)[1] == "InvalidSignature"


async def test_a_commit_that_fails_reports_its_reason(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)
    name = f"reject_{uuid.uuid4().hex}"
    await storage_pool.admin.execute(f"""
        create function public.{name}() returns trigger language plpgsql as $$
        begin raise insufficient_privilege using message = 'not at the commit'; end $$;
        create constraint trigger {name} after insert on storage.objects deferrable initially deferred
        for each row when (new.bucket_id = '{bucket}' and new.version <> '1') execute function public.{name}()
    """)
    try:
        first = await stored(storage_pool, allowance, upload_of(f"/object/{bucket}/a"))
        in_two = await storage_pool.put(f"/object/{bucket}/a", DATA)
    finally:
        await storage_pool.admin.execute(f"drop function public.{name}() cascade")

    assert first.grant is not None  # the second step reports it
    assert refusal(in_two) == (403, "AccessDenied", "not at the commit")
    assert await storage_pool.count(bucket) == 0


async def test_many_at_once_are_all_written(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    allowance = await allowance_of(storage_pool, bucket)

    answers = await asyncio.gather(
        *(stored(storage_pool, allowance, upload_of(f"/object/{bucket}/{number}")) for number in range(40))
    )

    assert {answer.status for answer in answers} == {200}
    assert await storage_pool.count(bucket) == 40
