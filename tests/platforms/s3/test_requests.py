"""What S3 requests ask for beside the bytes: every header is honoured, harmless or rejected; parts; pages of buckets."""

import base64
import gzip
import hashlib
import urllib.error
import urllib.request
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # ships no types

from tests.platform import Platform
from tests.platforms.conftest import token
from tests.s3_clients import s3_client

pytestmark = [pytest.mark.process_group("s3"), pytest.mark.timeout(180)]

MIB = 1024 * 1024
OWNER = "a11ce000-0000-4000-8000-000000000001"
STORED = {
    "ContentEncoding": "gzip",
    "ContentDisposition": 'attachment; filename="a.txt"',
    "ContentLanguage": "de",
    "Expires": datetime(2030, 1, 1, tzinfo=UTC),
}
SENT = {
    "content-encoding": "gzip",
    "content-disposition": 'attachment; filename="a.txt"',
    "content-language": "de",
    "expires": "Tue, 01 Jan 2030 00:00:00 GMT",
}
REJECTED: dict[str, dict[str, object]] = {
    "x-amz-server-side-encryption": {"ServerSideEncryption": "AES256"},
    "x-amz-server-side-encryption-customer-algorithm": {
        "SSECustomerAlgorithm": "AES256",
        "SSECustomerKey": "0" * 32,
    },
    "x-amz-object-lock-legal-hold": {"ObjectLockLegalHoldStatus": "ON"},
    "x-amz-object-lock-mode": {
        "ObjectLockMode": "COMPLIANCE",
        "ObjectLockRetainUntilDate": datetime(2035, 1, 1, tzinfo=UTC),
    },
    "x-amz-tagging": {"Tagging": "a=b"},
    "x-amz-storage-class": {"StorageClass": "GLACIER"},
    "x-amz-acl": {"ACL": "public-read"},
    "x-amz-grant-read": {"GrantRead": "id=1"},
    "x-amz-website-redirect-location": {"WebsiteRedirectLocation": "/x"},
}
HARMLESS: list[dict[str, object]] = [
    {"StorageClass": "STANDARD"},
    {"ObjectLockLegalHoldStatus": "OFF"},
    {"ACL": "private"},
    {"ACL": "bucket-owner-full-control"},
    {"RequestPayer": "requester"},
]


def refused(call: Any, **arguments: Any) -> tuple[int, str, str]:
    """Make a call that must be refused; return status, code and the header that the error names."""
    with pytest.raises(ClientError) as error:
        call(**arguments)
    answer = error.value.response
    return (
        answer["ResponseMetadata"]["HTTPStatusCode"],
        answer["Error"]["Code"],
        answer["Error"].get("Header", ""),
    )


def headers_of(answer: Any) -> dict[str, str]:
    headers: dict[str, str] = answer["ResponseMetadata"]["HTTPHeaders"]
    return headers


@pytest.mark.parametrize("header", REJECTED)
def test_a_header_that_asks_for_what_is_not_done_is_rejected(s3: Any, bucket: str, header: str) -> None:
    s3.put_object(Bucket=bucket, Key="source", Body=b"old")
    named: dict[str, object] = {"Bucket": bucket, "Key": "x", **REJECTED[header]}

    assert refused(s3.put_object, **named, Body=b"new") == (501, "NotImplemented", header)
    assert refused(s3.create_multipart_upload, **named) == (501, "NotImplemented", header)
    assert refused(s3.copy_object, **named, CopySource=f"{bucket}/source") == (501, "NotImplemented", header)

    assert [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["source"]


@pytest.mark.parametrize("arguments", HARMLESS)
def test_a_header_that_asks_for_nothing_is_accepted(s3: Any, bucket: str, arguments: Any) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"new", **arguments)

    assert s3.get_object(Bucket=bucket, Key="x")["Body"].read() == b"new"


def test_bytes_are_not_appended_and_keys_of_clients_not_ignored(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"old")
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "0" * 32}
    status, code, _ = refused(s3.get_object, Bucket=bucket, Key="x", **key)

    assert (status, code) == (501, "NotImplemented")
    assert refused(s3.put_object, Bucket=bucket, Key="x", Body=b"new", WriteOffsetBytes=3) == (
        501,
        "NotImplemented",
        "x-amz-write-offset-bytes",
    )
    assert s3.get_object(Bucket=bucket, Key="x")["Body"].read() == b"old"


def test_a_presigned_url_is_rejected_for_its_headers_too(s3: Any, bucket: str) -> None:
    arguments = {"Bucket": bucket, "Key": "x", "ServerSideEncryption": "AES256"}
    url = s3.generate_presigned_url("put_object", Params=arguments)
    request = urllib.request.Request(url, b"new", {"x-amz-server-side-encryption": "AES256"}, method="PUT")

    with pytest.raises(urllib.error.HTTPError) as error, urllib.request.urlopen(request, timeout=30):
        pass

    with error.value:
        assert error.value.code == 501
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_an_access_list_of_an_object_must_be_what_its_bucket_is(s3: Any, bucket: str) -> None:
    public = f"p-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=public, ACL="public-read")

    s3.put_object(Bucket=public, Key="x", Body=b"new", ACL="public-read")

    assert refused(s3.put_object, Bucket=public, Key="y", Body=b"new", ACL="private")[0] == 501
    assert refused(s3.put_object, Bucket=bucket, Key="y", Body=b"new", ACL="public-read-write")[0] == 501
    assert refused(s3.put_object, Bucket=bucket, Key="y", Body=b"new", ACL="nonsense")[:2] == (
        400,
        "InvalidArgument",
    )
    assert refused(s3.create_bucket, Bucket=f"{public}-2", ACL="public-read-write")[0] == 501
    assert refused(s3.create_bucket, Bucket=f"{public}-2", ObjectLockEnabledForBucket=True)[0] == 501


def test_the_expected_owner_of_a_bucket_is_compared(running_platform: Platform, s3: Any, bucket: str) -> None:
    running_platform.psql(f"update storage.buckets set owner_id = '{OWNER}' where id = '{bucket}'")
    named = {"Bucket": bucket, "Key": "x"}

    s3.put_object(**named, Body=b"new", ExpectedBucketOwner=OWNER)

    denied = (403, "AccessDenied")
    assert refused(s3.put_object, **named, Body=b"x", ExpectedBucketOwner="123456789012")[:2] == denied
    assert refused(s3.get_object, **named, ExpectedBucketOwner="123456789012")[:2] == denied
    copy = {"Bucket": bucket, "Key": "y", "CopySource": f"{bucket}/x"}
    assert refused(s3.copy_object, **copy, ExpectedSourceBucketOwner="123456789012")[:2] == denied
    s3.copy_object(**copy, ExpectedBucketOwner=OWNER, ExpectedSourceBucketOwner=OWNER)
    assert s3.get_object(**named)["Body"].read() == b"new"


@pytest.mark.parametrize("way", ["put", "multipart", "copy", "replaced", "chunks"])
def test_headers_of_the_content_are_stored_and_sent(s3: Any, running_platform: Platform, way: str) -> None:
    bucket = f"p-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=bucket, ACL="public-read")
    data, named = gzip.compress(b"hello" * 100), {"Bucket": bucket, "Key": "x"}
    if way == "put":
        s3.put_object(**named, Body=data, **STORED)
    elif way == "chunks":
        s3.put_object(**named, Body=data, **STORED, ChecksumAlgorithm="CRC32")
    elif way == "multipart":
        upload = s3.create_multipart_upload(**named, **STORED)["UploadId"]
        etag = s3.upload_part(**named, UploadId=upload, PartNumber=1, Body=data)["ETag"]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        s3.complete_multipart_upload(**named, UploadId=upload, MultipartUpload=parts)
    elif way == "copy":
        s3.put_object(Bucket=bucket, Key="source", Body=data, **STORED)
        s3.copy_object(**named, CopySource=f"{bucket}/source")
    else:
        s3.put_object(**named, Body=data, ContentEncoding="br", CacheControl="max-age=1")
        s3.copy_object(**named, CopySource=f"{bucket}/x", MetadataDirective="REPLACE", **STORED)

    got, head = s3.get_object(**named), s3.head_object(**named)

    assert SENT.items() <= headers_of(got).items()
    assert SENT.items() <= headers_of(head).items()
    assert got["Body"].read() == data
    with urllib.request.urlopen(
        f"{running_platform.url}/storage/v1/object/public/{bucket}/x", timeout=30
    ) as answer:
        assert (answer.headers["content-encoding"], answer.read()) == ("gzip", data)


def test_a_copy_that_replaces_drops_the_headers_of_its_source(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"old", **STORED)

    s3.copy_object(
        Bucket=bucket, Key="x", CopySource=f"{bucket}/x", MetadataDirective="REPLACE", ContentLanguage="fr"
    )

    head = headers_of(s3.head_object(Bucket=bucket, Key="x"))
    assert head["content-language"] == "fr"
    assert not {"content-encoding", "content-disposition", "expires"} & head.keys()


def test_headers_of_an_answer_are_overridden(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"old", **STORED)

    got = s3.get_object(
        Bucket=bucket,
        Key="x",
        ResponseContentEncoding="identity",
        ResponseContentDisposition="inline",
        ResponseContentLanguage="fr",
        ResponseCacheControl="no-store",
        ResponseExpires=datetime(2031, 1, 1, tzinfo=UTC),
    )

    expected = {
        "content-encoding": "identity",
        "content-disposition": "inline",
        "content-language": "fr",
        "cache-control": "no-store",
        "expires": "Wed, 01 Jan 2031 00:00:00 GMT",
    }
    assert got["Body"].read() == b"old"
    assert expected.items() <= headers_of(got).items()


def test_a_copy_onto_itself_must_change_something(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"old")
    named = {"Bucket": bucket, "Key": "x", "CopySource": f"{bucket}/x"}

    assert refused(s3.copy_object, **named)[:2] == (400, "InvalidRequest")
    s3.copy_object(**named, MetadataDirective="REPLACE", Metadata={"k": "v"})
    assert s3.head_object(Bucket=bucket, Key="x")["Metadata"] == {"k": "v"}


@pytest.fixture(scope="module")
def in_parts(s3: Any) -> dict[str, str]:
    """An object of three parts, of 5 MiB, 5 MiB and 7 bytes."""
    bucket = f"b-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=bucket)
    named = {"Bucket": bucket, "Key": "in parts"}
    upload = s3.create_multipart_upload(**named)["UploadId"]
    parts = []
    for number, size in ((1, 5 * MIB), (4, 5 * MIB), (9, 7)):
        etag = s3.upload_part(**named, UploadId=upload, PartNumber=number, Body=bytes([number]) * size)[
            "ETag"
        ]
        parts.append({"PartNumber": number, "ETag": etag})
    listed = {"Parts": parts}
    wrong = refused(
        s3.complete_multipart_upload, **named, UploadId=upload, MultipartUpload=listed, MpuObjectSize=7
    )
    assert wrong[:2] == (400, "InvalidRequest")
    s3.complete_multipart_upload(**named, UploadId=upload, MultipartUpload=listed, MpuObjectSize=10 * MIB + 7)
    return named


def test_a_part_is_read_by_its_number(s3: Any, in_parts: dict[str, str]) -> None:
    last, second = s3.get_object(**in_parts, PartNumber=3), s3.head_object(**in_parts, PartNumber=2)

    assert last["Body"].read() == b"\x09" * 7
    assert last["ContentRange"] == f"bytes {10 * MIB}-{10 * MIB + 6}/{10 * MIB + 7}"
    assert (last["ResponseMetadata"]["HTTPStatusCode"], last["PartsCount"]) == (206, 3)
    assert (second["ContentLength"], second["PartsCount"]) == (5 * MIB, 3)
    assert second["ResponseMetadata"]["HTTPStatusCode"] == 206
    assert "PartsCount" not in s3.head_object(**in_parts)
    assert refused(s3.get_object, **in_parts, PartNumber=4)[:2] == (400, "InvalidPart")
    assert refused(s3.head_object, **in_parts, PartNumber=4)[0] == 400
    assert refused(s3.get_object, **in_parts, PartNumber=0)[:2] == (400, "InvalidArgument")
    assert refused(s3.get_object, **in_parts, PartNumber=1, Range="bytes=0-1")[:2] == (400, "InvalidRequest")


def test_an_object_without_parts_is_its_first_part(s3: Any, bucket: str, in_parts: dict[str, str]) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"abc")
    s3.put_object(Bucket=bucket, Key="empty", Body=b"")
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=in_parts)

    first = s3.get_object(Bucket=bucket, Key="x", PartNumber=1)

    assert (first["Body"].read(), first["ContentRange"]) == (b"abc", "bytes 0-2/3")
    assert "PartsCount" not in first
    assert refused(s3.get_object, Bucket=bucket, Key="x", PartNumber=2)[:2] == (400, "InvalidPart")
    assert s3.get_object(Bucket=bucket, Key="empty", PartNumber=1)["Body"].read() == b""
    assert s3.head_object(Bucket=bucket, Key="copy", PartNumber=1)["ContentLength"] == 10 * MIB + 7


def test_only_the_last_part_may_be_small(s3: Any, bucket: str) -> None:
    named = {"Bucket": bucket, "Key": "x"}
    upload = {**named, "UploadId": s3.create_multipart_upload(**named)["UploadId"]}
    etags = [s3.upload_part(**upload, PartNumber=number, Body=b"small")["ETag"] for number in (1, 2)]
    parts = [{"PartNumber": number + 1, "ETag": etag} for number, etag in enumerate(etags)]

    both = refused(s3.complete_multipart_upload, **upload, MultipartUpload={"Parts": parts})

    assert both[:2] == (400, "EntityTooSmall")
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts[1:]})
    assert s3.get_object(**named)["Body"].read() == b"small"


def test_an_upload_without_parts_cannot_be_completed(s3: Any, bucket: str) -> None:
    named = {"Bucket": bucket, "Key": "x"}
    upload = {**named, "UploadId": s3.create_multipart_upload(**named)["UploadId"]}

    assert refused(s3.complete_multipart_upload, **upload)[:2] == (400, "MalformedXML")


def test_buckets_are_listed_in_pages_and_by_prefix(s3: Any, running_platform: Platform) -> None:
    start = f"list-{uuid.uuid4().hex[:8]}-"
    names = [f"{start}{letter}" for letter in "abcde"]
    for name in names:
        s3.create_bucket(Bucket=name)

    pages = list(s3.get_paginator("list_buckets").paginate(Prefix=start, PaginationConfig={"PageSize": 2}))

    assert [[entry["Name"] for entry in page["Buckets"]] for page in pages] == [
        names[:2],
        names[2:4],
        names[4:],
    ]
    assert [page["Prefix"] for page in pages] == [start] * 3
    assert "ContinuationToken" not in s3.list_buckets(Prefix=start, MaxBuckets=5)
    assert s3.list_buckets(Prefix=start, BucketRegion="eu-west-1").get("Buckets", []) == []
    assert refused(s3.list_buckets, MaxBuckets=10_001)[:2] == (400, "InvalidArgument")
    assert refused(s3.list_buckets, ContinuationToken="nonsense")[:2] == (400, "InvalidArgument")
    anon = running_platform.values["ANON_KEY"]
    user = s3_client(
        f"{running_platform.url}/storage/v1/s3",
        "us-east-1",
        "headwater",
        anon,
        token(running_platform, sub=OWNER),
    )
    assert user.list_buckets(Prefix=start).get("Buckets", []) == []


def test_every_answer_has_a_request_id(s3: Any, running_platform: Platform, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"abc")
    got = s3.get_object(Bucket=bucket, Key="x")
    assert got["Body"].read() == b"abc"  # an unread body leaves its socket open
    answers = [
        s3.list_buckets(),
        s3.put_object(Bucket=bucket, Key="x", Body=b"abc"),
        got,
        s3.head_object(Bucket=bucket, Key="x"),
        s3.delete_object(Bucket=bucket, Key="x"),
    ]
    with pytest.raises(ClientError) as missing:
        s3.get_object(Bucket=bucket, Key="none")
    answers.append(missing.value.response)

    ids = [headers_of(answer)["x-amz-request-id"] for answer in answers]

    assert ids == [answer["ResponseMetadata"]["RequestId"] for answer in answers]
    assert len(set(ids)) == len(ids)
    with pytest.raises(urllib.error.HTTPError) as unsigned:
        urllib.request.urlopen(f"{running_platform.url}/storage/v1/s3/{bucket}", timeout=30)
    with unsigned.value:
        id = unsigned.value.headers["x-amz-request-id"]
        assert f"<RequestId>{id}</RequestId>".encode() in unsigned.value.read()


def test_the_hash_of_a_list_of_keys_is_verified(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"abc")
    delete = {"Objects": [{"Key": "x"}]}

    def set_md5(text: str) -> Any:
        def change(request: Any, **_: Any) -> None:
            right = base64.b64encode(hashlib.md5(request.body).digest()).decode()
            request.headers["Content-MD5"] = text or right

        return change

    codes = []
    for text in ("1B2M2Y8AsgTpgAmY7PhCfg==", "bad", ""):
        change = set_md5(text)
        s3.meta.events.register("before-sign.s3.DeleteObjects", change)
        try:
            s3.delete_objects(Bucket=bucket, Delete=delete)
            codes.append("")
        except ClientError as error:
            codes.append(error.response["Error"]["Code"])
        finally:
            s3.meta.events.unregister("before-sign.s3.DeleteObjects", change)

    assert codes == ["BadDigest", "InvalidDigest", ""]
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_checksum_that_is_none_is_rejected_before_a_wrong_one(s3: Any, bucket: str) -> None:
    named = {"Bucket": bucket, "Key": "x", "Body": b"abc"}

    assert refused(s3.put_object, **named, ChecksumSHA256="bad")[:2] == (400, "InvalidRequest")
    assert refused(s3.put_object, **named, ChecksumCRC32="AAAAAA==")[:2] == (400, "BadDigest")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    s3.put_object(**named, ChecksumAlgorithm="SHA512")


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256", "SHA512"])
def test_checksums_are_stored_and_returned_with_the_whole_object(
    s3: Any, bucket: str, algorithm: str
) -> None:
    named, field = {"Bucket": bucket, "Key": "x"}, f"Checksum{algorithm}"

    put = s3.put_object(**named, Body=b"abc", ChecksumAlgorithm=algorithm)

    s3.copy_object(Bucket=bucket, Key="copy", CopySource=f"{bucket}/x")
    got = s3.get_object(**named, ChecksumMode="ENABLED")
    assert got["Body"].read() == b"abc"
    assert put[field] == got[field]
    assert put[field] == s3.head_object(Bucket=bucket, Key="copy", ChecksumMode="ENABLED")[field]
    assert (put["ChecksumType"], got["ChecksumType"]) == ("FULL_OBJECT", "FULL_OBJECT")
    ranged = s3.get_object(**named, ChecksumMode="ENABLED", Range="bytes=0-1")
    assert (ranged["Body"].read(), field in ranged) == (b"ab", False)
    assert field not in s3.head_object(**named)
    unchanged = refused(s3.get_object, **named, ChecksumMode="ENABLED", IfNoneMatch=put["ETag"])
    assert unchanged[:2] == (304, "304")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="y")["UploadId"]
    part = {"Bucket": bucket, "Key": "y", "UploadId": upload, "PartNumber": 1}
    assert s3.upload_part(**part, Body=b"abc", ChecksumAlgorithm=algorithm)[field] == put[field]


def test_an_object_has_one_version(s3: Any, bucket: str) -> None:
    for key in ("a", "b/c", "d"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"abc")

    pages = list(
        s3.get_paginator("list_object_versions").paginate(Bucket=bucket, PaginationConfig={"PageSize": 2})
    )
    folded = s3.list_object_versions(Bucket=bucket, Delimiter="/")

    versions = [version for page in pages for version in page["Versions"]]
    assert [(entry["Key"], entry["VersionId"], entry["IsLatest"]) for entry in versions] == [
        ("a", "null", True),
        ("b/c", "null", True),
        ("d", "null", True),
    ]
    assert [entry["Prefix"] for entry in folded["CommonPrefixes"]] == ["b/"]
    objects = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in versions]
    assert len(s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})["Deleted"]) == 3
    s3.delete_bucket(Bucket=bucket)


def test_lists_name_the_owner_of_an_object(s3: Any, running_platform: Platform, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="x", Body=b"abc")
    running_platform.psql(f"update storage.objects set owner_id = '{OWNER}' where bucket_id = '{bucket}'")

    assert s3.list_objects(Bucket=bucket)["Contents"][0]["Owner"]["ID"] == OWNER
    assert s3.list_objects_v2(Bucket=bucket, FetchOwner=True)["Contents"][0]["Owner"]["ID"] == OWNER
    assert "Owner" not in s3.list_objects_v2(Bucket=bucket)["Contents"][0]


def test_a_missing_bucket_is_an_error_of_every_operation(s3: Any) -> None:
    named = {"Bucket": f"none-{uuid.uuid4().hex}"}
    object, missing = {**named, "Key": "x"}, (404, "NoSuchBucket")

    assert refused(s3.delete_object, **object)[:2] == missing
    assert refused(s3.delete_objects, **named, Delete={"Objects": [{"Key": "x"}]})[:2] == missing
    assert refused(s3.put_object, **object, Body=b"")[:2] == missing
    assert refused(s3.get_object, **object)[:2] == missing
    assert refused(s3.create_multipart_upload, **object)[:2] == missing
    assert refused(s3.list_object_versions, **named)[:2] == missing


def test_a_key_has_at_most_1024_bytes(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="\u00e9" * 512, Body=b"")

    too_long = refused(s3.put_object, Bucket=bucket, Key="\u00e9" * 512 + "x", Body=b"")

    assert too_long[:2] == (400, "KeyTooLongError")


def test_lists_take_an_empty_token_and_a_prefix_that_cannot_be_printed(s3: Any, bucket: str) -> None:
    for key in ("a", "b", "d"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")

    first = s3.list_objects_v2(Bucket=bucket, ContinuationToken="", MaxKeys=2)
    rest = s3.list_objects_v2(Bucket=bucket, ContinuationToken=first["NextContinuationToken"])
    lists = [each(Bucket=bucket, Prefix="\x0a") for each in (s3.list_objects, s3.list_objects_v2)]

    assert first["ContinuationToken"] == ""
    assert [entry["Key"] for entry in first["Contents"] + rest["Contents"]] == ["a", "b", "d"]
    assert [(found["Prefix"], found.get("Contents")) for found in lists] == [("\n", None)] * 2
