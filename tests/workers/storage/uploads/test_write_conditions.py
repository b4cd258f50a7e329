"""Conditions of reads, writes and deletes: 412, and nothing is lost (RFC 9110, 13.1 and 13.2)."""

import asyncio
import hashlib
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from schemas.http_dates import http_date
from tests.workers.storage.storage_pool import ALICE, NOBODY, StoragePool, refusal, request_of, shown, told
from workers.storage.model.errors import StorageError
from workers.storage.objects.rows import ObjectRow
from workers.storage.uploads.write_conditions import WriteCondition, read_write_condition

TAG = '"5eb63bbbe01eeed093cb22bb8f5acdc3"'  # of b"hello world"
MOMENT = 1_800_000_000
ROW = ObjectRow(
    str(uuid4()), "a", "b", str(uuid4()), {"eTag": TAG, "lastModified": "2027-01-15T08:00:00.900Z"},
    msgspec.Raw(b"null"), None, None,
)  # fmt: skip
FAILED = "At least one of the pre-conditions you specified did not hold"
BEFORE, AT, AFTER = http_date(MOMENT - 1), http_date(MOMENT), http_date(MOMENT + 1)


@pytest.mark.parametrize(
    ("headers", "with_row", "without_row"),
    [
        ({"if-match": TAG}, True, False),
        ({"if-match": f'"x", {TAG}'}, True, False),
        ({"if-match": TAG.strip('"')}, True, False),
        ({"if-match": f"W/{TAG}"}, False, False),
        ({"if-match": "*"}, True, False),
        ({"if-match": '"nope"'}, False, False),
        ({"if-match": "nope"}, False, False),
        ({"if-match": ""}, False, False),
        ({"if-none-match": "*"}, False, True),
        ({"if-none-match": TAG}, False, True),
        ({"if-none-match": f"W/{TAG}"}, False, True),
        ({"if-none-match": '"x"'}, True, True),
        ({"if-unmodified-since": AT}, True, True),
        ({"if-unmodified-since": AFTER}, True, True),
        ({"if-unmodified-since": BEFORE}, False, True),
        ({"if-match": TAG, "if-unmodified-since": BEFORE}, True, False),
        ({"if-match": TAG, "if-none-match": TAG}, False, False),
        ({"if-unmodified-since": AFTER, "if-none-match": "*"}, False, True),
    ],
)
def test_conditions_are_compared_in_the_order_of_the_rfc(
    headers: dict[str, str], with_row: bool, without_row: bool
) -> None:
    condition = read_write_condition(list(headers.items()))

    assert condition is not None
    assert (_is_met(condition, ROW), _is_met(condition, None)) == (with_row, without_row)


def _is_met(condition: WriteCondition, row: ObjectRow | None) -> bool:
    try:
        condition.check(row)
    except StorageError as error:
        return error.status != 412
    return True


def test_lines_of_one_header_are_one_list() -> None:
    lines = [("if-match", '"x"'), ("if-match", TAG)]

    assert read_write_condition(lines) == WriteCondition(match=('"x"', TAG))
    assert read_write_condition([("if-modified-since", AT), ("if-unmodified-since", "no date")]) is None


FALSE = [
    {"if_match": '"nope"'},
    {"if_none_match": "*"},
    {"if_none_match": TAG},
    {"if_unmodified_since": http_date(0)},
]


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("condition", FALSE)
async def test_write_under_a_false_condition_is_412_and_loses_nothing(
    storage_pool: StoragePool, method: str, condition: dict[str, Any]
) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    names = await storage_pool.blob_names()

    answer = await storage_pool.put(
        f"/object/{bucket}/a", b"new", method=method, x_upsert="true", **condition
    )

    assert (answer.status, refusal(answer)) == (412, (412, "PreconditionFailed", FAILED))
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"hello world"
    assert await storage_pool.blob_names() == names


async def test_write_under_a_condition_about_a_missing_object(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()

    missing = await storage_pool.put(f"/object/{bucket}/a", method="PUT", if_match="*")
    created = await storage_pool.put(f"/object/{bucket}/a", method="PUT", if_none_match="*")

    assert (missing.status, created.status) == (412, 200)
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"hello world"


async def test_write_under_a_true_condition_replaces(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")

    answer = await storage_pool.put(f"/object/{bucket}/a", b"new", method="PUT", if_match=TAG)

    assert answer.status == 200
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"new"


async def test_creation_needs_the_policy_of_an_insert_alone(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.policy(bucket, "insert")

    created = await storage_pool.put(f"/object/{bucket}/a", b"1", ALICE, method="PUT", if_none_match="*")
    again = await storage_pool.put(f"/object/{bucket}/a", b"2", ALICE, method="PUT", if_none_match="*")

    assert (created.status, again.status) == (200, 412)
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"1"


async def test_caller_without_rights_learns_nothing_from_a_condition(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")

    for tag in (TAG, '"nope"'):
        written = await storage_pool.put(f"/object/{bucket}/a", b"x", ALICE, method="PUT", if_match=tag)
        assert refusal(written)[:2] == (403, "AccessDenied")
        assert (await storage_pool.refused("DELETE", f"/object/{bucket}/a", None, ALICE, if_match=tag))[
            0
        ] == 403


async def test_condition_is_checked_again_when_the_bytes_have_come(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    request = request_of(
        "PUT", f"/object/{bucket}/a", content_type="text/plain", content_length="3", if_match=TAG
    )
    first = await storage_pool.ask(request)
    assert first.grant is not None
    await storage_pool.put(f"/object/{bucket}/a", b"in between", method="PUT")

    _, stored = await storage_pool.stored(first.grant, b"new", {})
    answer = await storage_pool.ask(msgspec.structs.replace(request, stored=stored))

    assert answer.status == 412
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"in between"


async def test_object_that_was_deleted_in_between_does_not_come_back(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    request = request_of(
        "PUT", f"/object/{bucket}/a", content_type="text/plain", content_length="3", if_match=TAG
    )
    first = await storage_pool.ask(request)
    assert first.grant is not None
    await storage_pool.ok("DELETE", f"/object/{bucket}/a")

    _, stored = await storage_pool.stored(first.grant, b"new", {})

    assert (await storage_pool.ask(msgspec.structs.replace(request, stored=stored))).status == 412
    assert await storage_pool.count(bucket) == 0


@pytest.mark.parametrize("condition", [{"if_match": TAG}, {"if_none_match": "*"}])
async def test_of_many_writers_under_one_condition_one_succeeds(
    storage_pool: StoragePool, condition: dict[str, Any]
) -> None:
    bucket = await storage_pool.bucket()
    if "if_match" in condition:
        await storage_pool.uploaded(f"/object/{bucket}/a")
    bodies = [f"writer {index}".encode() for index in range(12)]

    answers = await asyncio.gather(
        *(storage_pool.put(f"/object/{bucket}/a", body, method="PUT", **condition) for body in bodies)
    )

    statuses = [answer.status for answer in answers]
    assert sorted(statuses) == [200, *[412] * 11]
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == bodies[statuses.index(200)]


async def test_signed_upload_keeps_its_conditions(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    signed = await storage_pool.ok("POST", f"/object/upload/sign/{bucket}/a", {}, x_upsert="true")

    answer = await storage_pool.put(
        signed["url"], b"new", NOBODY, method="PUT", is_known=False, if_none_match="*"
    )

    assert answer.status == 412
    assert await storage_pool.got(f"/object/authenticated/{bucket}/a") == b"hello world"


async def test_delete_under_a_condition(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")

    refused = await storage_pool.send("DELETE", f"/object/{bucket}/a", if_match='"nope"')
    missing = await storage_pool.refused("DELETE", f"/object/{bucket}/b", if_match="*")
    there = await storage_pool.count(bucket)
    done = await storage_pool.send("DELETE", f"/object/{bucket}/a", if_match=TAG)

    assert (refused.status, missing[0], there, done.status) == (412, 404, 1, 200)
    assert await storage_pool.count(bucket) == 0


async def test_of_a_write_and_a_delete_under_one_condition_one_succeeds(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    for _ in range(5):
        await storage_pool.uploaded(f"/object/{bucket}/a", x_upsert="true")
        written, deleted = await asyncio.gather(
            storage_pool.put(f"/object/{bucket}/a", b"new", method="PUT", if_match=TAG),
            storage_pool.send("DELETE", f"/object/{bucket}/a", if_match=TAG),
        )
        assert sorted([written.status == 200, deleted.status == 200]) == [False, True]
        assert await storage_pool.count(bucket) == (1 if written.status == 200 else 0)


async def test_copy_under_a_condition_about_its_destination(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.uploaded(f"/object/{bucket}/b", b"there")
    body = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"}

    for condition in ({"if_none_match": "*"}, {"if_match": TAG}):
        refused = await storage_pool.send("POST", "/object/copy", body, x_upsert="true", **condition)
        assert refused.status == 412
    assert await storage_pool.got(f"/object/authenticated/{bucket}/b") == b"there"
    await storage_pool.ok("POST", "/object/copy", body, x_upsert="true", if_match=f'"{_md5(b"there")}"')
    assert await storage_pool.got(f"/object/authenticated/{bucket}/b") == b"hello world"


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("area", ["authenticated", "info", "info/authenticated"])
async def test_reads_honour_the_conditions(storage_pool: StoragePool, method: str, area: str) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    path = f"/object/{area}/{bucket}/a"

    statuses = {
        name: [(await storage_pool.send(method, path, **{name: value})).status for value in values]
        for name, values in {
            "if_match": [TAG, "*", f'"x", {TAG}', '"nope"', f"W/{TAG}"],
            "if_unmodified_since": [http_date(4_000_000_000), "no date", http_date(0)],
        }.items()
    }

    assert statuses == {"if_match": [200, 200, 200, 412, 412], "if_unmodified_since": [200, 200, 412]}


async def test_information_that_the_client_has_is_304(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    path = f"/object/info/{bucket}/a"

    same = await storage_pool.send("GET", path, if_none_match=TAG)
    since = await storage_pool.send("GET", path, if_modified_since=http_date(4_000_000_000))
    other = await storage_pool.send(
        "GET", path, if_none_match='"x"', if_modified_since=http_date(4_000_000_000)
    )
    both = await storage_pool.send("GET", path, if_none_match=TAG, if_match='"nope"')

    assert [answer.status for answer in (same, since, other, both)] == [304, 304, 200, 412]
    assert (same.body, told(same, "etag")) == (b"", TAG)
    assert shown(other)["metadata"] == {}


@pytest.mark.parametrize(
    ("headers", "status"), [({"if_match": TAG}, 412), ({"if_none_match": "*"}, 412), ({"if_match": "*"}, 200)]
)
async def test_what_has_no_tag_is_not_changed_under_a_tag(
    storage_pool: StoragePool, headers: dict[str, str], status: int
) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(f"/object/{bucket}/a")
    await storage_pool.uploaded(f"/object/{bucket}/f/a")
    move = {"bucketId": bucket, "sourceKey": "a", "destinationKey": "b"}

    statuses = [
        (await storage_pool.send("PUT", f"/bucket/{bucket}", {"public": True}, **headers)).status,
        (await storage_pool.send("POST", "/object/move", move, **headers)).status,
        (
            await storage_pool.send(
                "DELETE", f"/object/{bucket}", {"prefix": "f", "recursive": True}, **headers
            )
        ).status,
        (await storage_pool.send("DELETE", f"/object/{bucket}", {"prefixes": ["a", "b"]}, **headers)).status,
        (await storage_pool.send("POST", f"/bucket/{bucket}/empty", **headers)).status,
    ]
    left = await storage_pool.count(bucket)
    statuses.append((await storage_pool.send("DELETE", f"/bucket/{bucket}", **headers)).status)

    assert (statuses, left) == ([status] * 6, 2 if status == 412 else 0)
