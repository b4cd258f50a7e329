"""Conditions of S3 writes and deletions: HTTP 412, or 404 for a missing object, and nothing is changed."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # ships no types

from tests.platform import Platform
from tests.platforms.conftest import token
from tests.platforms.s3.conftest import ID, SECRET
from tests.s3_clients import s3_client

pytestmark = [pytest.mark.process_group("s3"), pytest.mark.timeout(180)]

FAILED, MISSING, OK = (412, "PreconditionFailed"), (404, "NoSuchKey"), (200, "")
BOB = "b0b00000-0000-4000-8000-000000000002"


def outcome(call: Any, **arguments: Any) -> tuple[int, str]:
    """Return status and error code of a call; the code is empty if it succeeds."""
    try:
        return call(**arguments)["ResponseMetadata"]["HTTPStatusCode"], ""
    except ClientError as error:
        answer = error.response
        return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


def body_of(s3: Any, bucket: str, key: str) -> bytes:
    return bytes(s3.get_object(Bucket=bucket, Key=key)["Body"].read())


def write_calls(s3: Any, bucket: str, key: str) -> dict[str, Any]:
    """Return the three ways to write `key` with the body b"new", each a function of the condition's arguments."""
    s3.put_object(Bucket=bucket, Key="source of copies", Body=b"new")

    def complete(**condition: Any) -> Any:
        upload = s3.create_multipart_upload(Bucket=bucket, Key=key)["UploadId"]
        named = {"Bucket": bucket, "Key": key, "UploadId": upload}
        part = {"PartNumber": 1, "ETag": s3.upload_part(**named, PartNumber=1, Body=b"new")["ETag"]}
        return s3.complete_multipart_upload(**named, MultipartUpload={"Parts": [part]}, **condition)

    def copy(**condition: Any) -> Any:
        def add(request: Any, **_: Any) -> None:
            for name, value in condition.items():
                request.headers["If-Match" if name == "IfMatch" else "If-None-Match"] = value

        s3.meta.events.register("before-sign.s3.CopyObject", add)
        try:
            return s3.copy_object(Bucket=bucket, Key=key, CopySource=f"{bucket}/source of copies")
        finally:
            s3.meta.events.unregister("before-sign.s3.CopyObject", add)

    def put(**condition: Any) -> Any:
        return s3.put_object(Bucket=bucket, Key=key, Body=b"new", **condition)

    return {"put": put, "copy": copy, "complete": complete}


@pytest.mark.parametrize("way", ["put", "copy", "complete"])
def test_a_false_condition_of_a_write_keeps_the_object(s3: Any, bucket: str, way: str) -> None:
    write = write_calls(s3, bucket, "x")[way]
    etag = s3.put_object(Bucket=bucket, Key="x", Body=b"old")["ETag"]

    assert outcome(write, IfMatch='"nope"') == FAILED
    assert outcome(write, IfMatch=f"W/{etag}") == FAILED
    assert outcome(write, IfNoneMatch="*") == FAILED
    assert outcome(write, IfNoneMatch=etag) == FAILED
    assert outcome(write, IfMatch='"nope", "neither"') == FAILED

    assert body_of(s3, bucket, "x") == b"old"
    assert outcome(write, IfMatch=f'"nope", {etag}') == OK
    assert body_of(s3, bucket, "x") == b"new"
    assert outcome(write, IfMatch="*") == OK
    assert outcome(write, IfNoneMatch='"other"') == OK


@pytest.mark.parametrize("way", ["put", "copy", "complete"])
def test_a_condition_of_a_write_to_a_free_name(s3: Any, bucket: str, way: str) -> None:
    write = write_calls(s3, bucket, "x")[way]

    assert outcome(write, IfMatch='"nope"') == MISSING
    assert outcome(write, IfMatch="*") == MISSING
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1
    assert outcome(write, IfNoneMatch="*") == OK
    assert outcome(write, IfNoneMatch="*") == FAILED


def test_a_bare_tag_without_quotes_matches(s3: Any, bucket: str) -> None:
    etag = s3.put_object(Bucket=bucket, Key="x", Body=b"old")["ETag"].strip('"')

    assert outcome(s3.put_object, Bucket=bucket, Key="x", Body=b"new", IfMatch=etag) == OK


def test_an_upload_whose_completion_failed_can_be_completed_later(s3: Any, bucket: str) -> None:
    upload = s3.create_multipart_upload(Bucket=bucket, Key="x")["UploadId"]
    named = {"Bucket": bucket, "Key": "x", "UploadId": upload}
    s3.upload_part(**named, PartNumber=1, Body=b"parts")
    parts = [{"PartNumber": p["PartNumber"], "ETag": p["ETag"]} for p in s3.list_parts(**named)["Parts"]]
    s3.put_object(Bucket=bucket, Key="x", Body=b"old")

    refused = outcome(
        s3.complete_multipart_upload, **named, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
    )

    assert refused == FAILED
    assert body_of(s3, bucket, "x") == b"old"
    s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})
    assert body_of(s3, bucket, "x") == b"parts"


@pytest.mark.parametrize("way", ["put", "complete"])
def test_one_of_many_writers_with_the_same_tag_succeeds(s3: Any, bucket: str, way: str) -> None:
    write = write_calls(s3, bucket, "x")[way]
    etag = s3.put_object(Bucket=bucket, Key="x", Body=b"old")["ETag"]

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: outcome(write, IfMatch=etag), range(8)))

    assert sorted(outcomes) == sorted([OK, *[FAILED] * 7])


def test_one_of_many_copies_with_the_same_tag_succeeds(
    running_platform: Platform, s3: Any, bucket: str
) -> None:
    etag = s3.put_object(Bucket=bucket, Key="x", Body=b"old")["ETag"]
    clients = [s3_client(f"{running_platform.url}/storage/v1/s3", "us-east-1", ID, SECRET) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(
            pool.map(lambda client: outcome(write_calls(client, bucket, "x")["copy"], IfMatch=etag), clients)
        )

    assert sorted(outcomes) == sorted([OK, *[FAILED] * 3])


def test_one_of_many_first_writers_succeeds(s3: Any, bucket: str) -> None:
    def attempt(number: int) -> tuple[int, str]:
        return outcome(s3.put_object, Bucket=bucket, Key="x", Body=b"%d" % number, IfNoneMatch="*")

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(8)))

    assert sorted(outcomes) == sorted([OK, *[FAILED] * 7])
    assert body_of(s3, bucket, "x") == b"%d" % outcomes.index(OK)


def test_counting_by_compare_and_swap_loses_no_increment(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="count", Body=b"0")

    def increment(_: int) -> None:
        while True:
            seen = s3.get_object(Bucket=bucket, Key="count")
            number = int(seen["Body"].read()) + 1
            written = outcome(
                s3.put_object, Bucket=bucket, Key="count", Body=b"%d" % number, IfMatch=seen["ETag"]
            )
            if written == OK:
                return
            assert written == FAILED

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(increment, range(12)))

    assert body_of(s3, bucket, "count") == b"12"


def test_a_false_condition_of_a_deletion_keeps_the_object(s3: Any, bucket: str) -> None:
    put = s3.put_object(Bucket=bucket, Key="x", Body=b"old")
    named = {"Bucket": bucket, "Key": "x"}
    modified = s3.head_object(**named)["LastModified"]

    assert outcome(s3.delete_object, **named, IfMatch='"nope"') == FAILED
    assert outcome(s3.delete_object, **named, IfMatchSize=4) == FAILED
    assert outcome(s3.delete_object, **named, IfMatchLastModifiedTime=modified - timedelta(days=1)) == FAILED
    assert outcome(s3.delete_object, Bucket=bucket, Key="none", IfMatch='"nope"') == (204, "")
    assert outcome(s3.delete_object, Bucket=bucket, Key="none", IfMatch="*") == (204, "")
    assert outcome(s3.delete_object, Bucket=bucket, Key="none", IfMatchSize=4) == (204, "")

    assert body_of(s3, bucket, "x") == b"old"
    condition = {"IfMatch": put["ETag"], "IfMatchSize": 3, "IfMatchLastModifiedTime": modified}
    assert outcome(s3.delete_object, **named, **condition) == (204, "")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_keys_of_a_list_are_deleted_by_their_own_conditions(s3: Any, bucket: str) -> None:
    tags = {
        key: s3.put_object(Bucket=bucket, Key=key, Body=key.encode())["ETag"] for key in ("a", "b", "c", "d")
    }
    objects = [
        {"Key": "a", "ETag": tags["a"]},
        {"Key": "b", "ETag": '"nope"'},
        {"Key": "c", "Size": 7},
        {"Key": "d", "LastModifiedTime": datetime(2001, 1, 1, tzinfo=UTC)},
        {"Key": "none", "ETag": '"nope"'},
        {"Key": "absent"},
    ]

    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})

    assert {entry["Key"]: entry["Code"] for entry in answer["Errors"]} == {
        "b": "PreconditionFailed",
        "c": "PreconditionFailed",
        "d": "PreconditionFailed",
    }
    assert sorted(entry["Key"] for entry in answer["Deleted"]) == ["a", "absent", "none"]
    assert [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["b", "c", "d"]
    version = {"Objects": [{"Key": "b", "VersionId": "1234"}]}
    assert outcome(s3.delete_objects, Bucket=bucket, Delete=version) == (501, "NotImplemented")


def test_one_of_a_write_and_a_deletion_with_the_same_tag_succeeds(s3: Any, bucket: str) -> None:
    for _ in range(6):
        etag = s3.put_object(Bucket=bucket, Key="x", Body=b"old")["ETag"]
        named = {"Bucket": bucket, "Key": "x", "IfMatch": etag}

        with ThreadPoolExecutor(2) as pool:
            deletion = pool.submit(outcome, s3.delete_object, **named)
            write = pool.submit(outcome, s3.put_object, **named, Body=b"new")

        pair = deletion.result(), write.result()
        assert pair in [((204, ""), MISSING), (FAILED, OK)]
        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == (1 if pair[1] == OK else 0)


def test_a_condition_does_not_reveal_what_policies_hide(
    running_platform: Platform, s3: Any, bucket: str
) -> None:
    etag = s3.put_object(Bucket=bucket, Key="secret", Body=b"hidden")["ETag"]
    anon = running_platform.values["ANON_KEY"]
    bob = s3_client(
        f"{running_platform.url}/storage/v1/s3",
        "us-east-1",
        "headwater",
        anon,
        token(running_platform, sub=BOB),
    )
    named = {"Bucket": bucket, "Key": "secret"}

    for tag in (etag, '"nope"'):
        assert outcome(bob.delete_object, **named, IfMatch=tag) == (403, "AccessDenied")
        assert outcome(bob.put_object, **named, Body=b"new", IfMatch=tag) == (403, "AccessDenied")
    assert body_of(s3, bucket, "secret") == b"hidden"
