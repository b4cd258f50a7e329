"""What S3 tools read beside objects: subresources that are never set, checksums of uploads in parts, sizes and places."""

import base64
import hashlib
import uuid
import zlib
from typing import Any

import boto3  # type: ignore[import-untyped]  # ships no types
import pytest
from botocore.config import Config  # type: ignore[import-untyped]  # ships no types
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # ships no types

from tests.platform import Platform
from tests.platforms.s3.conftest import ID, SECRET

pytestmark = [pytest.mark.process_group("s3"), pytest.mark.timeout(180)]

MIB = 1024 * 1024
PARTS = (b"a" * (5 * MIB), b"b" * (5 * MIB + 1), b"the end")
NEVER_SET = {
    "get_bucket_cors": "NoSuchCORSConfiguration",
    "get_bucket_encryption": "ServerSideEncryptionConfigurationNotFoundError",
    "get_bucket_lifecycle_configuration": "NoSuchLifecycleConfiguration",
    "get_object_lock_configuration": "ObjectLockConfigurationNotFoundError",
    "get_bucket_ownership_controls": "OwnershipControlsNotFoundError",
    "get_bucket_policy": "NoSuchBucketPolicy",
    "get_bucket_policy_status": "NoSuchBucketPolicy",
    "get_public_access_block": "NoSuchPublicAccessBlockConfiguration",
    "get_bucket_replication": "ReplicationConfigurationNotFoundError",
    "get_bucket_tagging": "NoSuchTagSet",
    "get_bucket_website": "NoSuchWebsiteConfiguration",
}
DELETED = (
    "delete_bucket_cors", "delete_bucket_encryption", "delete_bucket_lifecycle", "delete_bucket_ownership_controls",
    "delete_bucket_policy", "delete_public_access_block", "delete_bucket_replication", "delete_bucket_tagging",
    "delete_bucket_website",
)  # fmt: skip


def refused(call: Any, **arguments: Any) -> tuple[int, str]:
    """Make a call that must be refused; return status and code."""
    with pytest.raises(ClientError) as error:
        call(**arguments)
    answer = error.value.response
    return answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]


@pytest.mark.parametrize("operation", NEVER_SET)
def test_a_configuration_that_is_never_set_has_the_code_of_s3(s3: Any, bucket: str, operation: str) -> None:
    assert refused(getattr(s3, operation), Bucket=bucket) == (404, NEVER_SET[operation])
    assert refused(getattr(s3, operation), Bucket="missing-bucket") == (404, "NoSuchBucket")


@pytest.mark.parametrize("operation", DELETED)
def test_deleting_a_configuration_that_is_never_set_changes_nothing(
    s3: Any, bucket: str, operation: str
) -> None:
    answer = getattr(s3, operation)(Bucket=bucket)

    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert refused(getattr(s3, operation), Bucket="missing-bucket") == (404, "NoSuchBucket")


def test_documents_without_content_are_empty(s3: Any, bucket: str) -> None:
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    assert "Status" not in s3.get_bucket_accelerate_configuration(Bucket=bucket)
    assert "LoggingEnabled" not in s3.get_bucket_logging(Bucket=bucket)
    assert "TopicConfigurations" not in s3.get_bucket_notification_configuration(Bucket=bucket)
    assert s3.get_bucket_request_payment(Bucket=bucket)["Payer"] == "BucketOwner"


def test_setting_a_configuration_is_not_implemented(s3: Any, bucket: str) -> None:
    assert refused(s3.put_bucket_policy, Bucket=bucket, Policy="{}") == (404, "NotImplemented")


@pytest.mark.parametrize("acl", ["private", "public-read"])
def test_an_access_list_shows_the_owner_and_who_reads(s3: Any, acl: str) -> None:
    bucket = f"p-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=bucket, ACL=acl)
    s3.put_object(Bucket=bucket, Key="x", Body=b"1")

    lists = [s3.get_bucket_acl(Bucket=bucket), s3.get_object_acl(Bucket=bucket, Key="x")]

    for shown in lists:
        grants = [(grant["Grantee"]["Type"], grant["Permission"]) for grant in shown["Grants"]]
        assert grants[0] == ("CanonicalUser", "FULL_CONTROL")
        assert (("Group", "READ") in grants) is (acl == "public-read")


def test_objects_have_no_locks_and_no_tags(s3: Any, bucket: str) -> None:
    named = {"Bucket": bucket, "Key": "x"}
    s3.put_object(**named, Body=b"1")

    assert refused(s3.get_object_retention, **named) == (400, "InvalidRequest")
    assert refused(s3.get_object_legal_hold, **named) == (400, "InvalidRequest")
    assert s3.delete_object_tagging(**named)["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert refused(s3.delete_object_tagging, Bucket=bucket, Key="y") == (404, "NoSuchKey")
    assert s3.get_object(**named)["Body"].read() == b"1"


def test_user_metadata_has_at_most_2048_bytes_of_names_and_values(s3: Any, bucket: str) -> None:
    named = {"Bucket": bucket, "Key": "x"}
    most = {"a": "v" * 1000, "bc": "w" * 1045}

    s3.put_object(**named, Body=b"1", Metadata=most)

    assert s3.head_object(**named)["Metadata"] == most
    more = {**most, "a": "v" * 1001}
    assert refused(s3.put_object, **named, Body=b"2", Metadata=more) == (400, "MetadataTooLarge")
    assert refused(s3.create_multipart_upload, **named, Metadata=more) == (400, "MetadataTooLarge")
    assert s3.get_object(**named)["Body"].read() == b"1"


def test_of_several_ranges_none_counts(s3: Any, bucket: str) -> None:
    named = {"Bucket": bucket, "Key": "x"}
    s3.put_object(**named, Body=b"0123456789")

    got = s3.get_object(**named, Range="bytes=0-1,4-5")

    assert got["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert got["Body"].read() == b"0123456789"
    assert s3.get_object(**named, Range="bytes=4-5")["Body"].read() == b"45"


def upload(s3: Any, bucket: str, field: str = "", sums: tuple[str, ...] = (), **created: Any) -> Any:
    """Upload the parts with their checksums; return what a completion needs."""
    named = {"Bucket": bucket, "Key": "in parts/ä"}
    started = s3.create_multipart_upload(**named, **created)
    listed = []
    for number, body in enumerate(PARTS, 1):
        declared = {field: sums[number - 1]} if field else {}
        part = s3.upload_part(**named, UploadId=started["UploadId"], PartNumber=number, Body=body, **declared)
        listed.append({"PartNumber": number, "ETag": part["ETag"], **declared})
    return {**named, "UploadId": started["UploadId"], "MultipartUpload": {"Parts": listed}}


def plain_client(running_platform: Platform) -> Any:
    """A client that declares no checksum of its own."""

    return boto3.client(
        "s3", endpoint_url=f"{running_platform.url}/storage/v1/s3", region_name="us-east-1",
        aws_access_key_id=ID, aws_secret_access_key=SECRET,
        config=Config(
            s3={"addressing_style": "path"}, retries={"max_attempts": 0}, request_checksum_calculation="when_required"
        ),
    )  # fmt: skip


def crc32(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def sha256(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def test_a_composite_checksum_covers_those_of_the_parts(s3: Any, bucket: str) -> None:
    sums = tuple(base64.b64encode(sha256(body)).decode() for body in PARTS)
    expected = base64.b64encode(sha256(b"".join(map(sha256, PARTS)))).decode() + "-3"
    call = upload(s3, bucket, "ChecksumSHA256", sums, ChecksumAlgorithm="SHA256")
    named = {"Bucket": bucket, "Key": call["Key"]}
    listed = s3.list_parts(**named, UploadId=call["UploadId"])

    assert [part["ChecksumSHA256"] for part in listed["Parts"]] == list(sums)
    assert (listed["ChecksumAlgorithm"], listed["ChecksumType"]) == ("SHA256", "COMPOSITE")
    assert refused(s3.complete_multipart_upload, **call, ChecksumSHA256=sums[0]) == (400, "BadDigest")
    done = s3.complete_multipart_upload(**call, ChecksumSHA256=expected, ChecksumType="COMPOSITE")
    head = s3.head_object(**named, ChecksumMode="ENABLED")

    assert (done["ChecksumSHA256"], done["ChecksumType"]) == (expected, "COMPOSITE")
    assert (head["ChecksumSHA256"], head["ChecksumType"]) == (expected, "COMPOSITE")
    assert "ChecksumSHA256" not in s3.head_object(**named)


@pytest.mark.parametrize("declares_type", [True, False])
def test_a_full_checksum_is_that_of_all_bytes(s3: Any, bucket: str, declares_type: bool) -> None:
    sums, whole = tuple(map(crc32, PARTS)), b"".join(PARTS)
    kind = {"ChecksumType": "FULL_OBJECT"}
    call = upload(s3, bucket, "ChecksumCRC32", sums, ChecksumAlgorithm="CRC32", **kind)
    named = {"Bucket": bucket, "Key": call["Key"]}

    done = s3.complete_multipart_upload(**call, ChecksumCRC32=crc32(whole), **(kind if declares_type else {}))
    got = s3.get_object(**named, ChecksumMode="ENABLED")

    assert (done["ChecksumCRC32"], got["ChecksumCRC32"], got["ChecksumType"]) == (
        crc32(whole),
        crc32(whole),
        "FULL_OBJECT",
    )
    assert got["Body"].read() == whole
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=named)
    assert s3.head_object(Bucket=bucket, Key="copy", ChecksumMode="ENABLED")["ChecksumCRC32"] == crc32(whole)


def test_a_copied_part_has_the_checksum_of_the_upload(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="source", Body=PARTS[0])
    named = {"Bucket": bucket, "Key": "x"}
    id = s3.create_multipart_upload(**named, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")[
        "UploadId"
    ]

    part = s3.upload_part_copy(**named, UploadId=id, PartNumber=1, CopySource=f"{bucket}/source")
    listed = {"Parts": [{"PartNumber": 1, "ETag": part["CopyPartResult"]["ETag"]}]}
    done = s3.complete_multipart_upload(**named, UploadId=id, MultipartUpload=listed)

    assert part["CopyPartResult"]["ChecksumCRC32"] == done["ChecksumCRC32"] == crc32(PARTS[0])


def test_what_the_checksums_of_an_upload_cannot_be_is_refused(
    running_platform: Platform, s3: Any, bucket: str
) -> None:
    named = {"Bucket": bucket, "Key": "x"}
    invalid = (400, "InvalidRequest")

    assert (
        refused(s3.create_multipart_upload, **named, ChecksumAlgorithm="SHA1", ChecksumType="FULL_OBJECT")
        == invalid
    )
    assert (
        refused(s3.create_multipart_upload, **named, ChecksumAlgorithm="CRC64NVME", ChecksumType="COMPOSITE")
        == invalid
    )
    id = s3.create_multipart_upload(**named, ChecksumAlgorithm="CRC32")["UploadId"]
    other = base64.b64encode(sha256(b"1")).decode()
    part = {**named, "UploadId": id, "PartNumber": 1, "Body": b"1"}
    assert refused(s3.upload_part, **part, ChecksumSHA256=other) == invalid
    part_of_plain = s3.upload_part(**part, ChecksumCRC32=crc32(b"1"))
    wrong = {"Parts": [{"PartNumber": 1, "ETag": part_of_plain["ETag"], "ChecksumCRC32": crc32(b"2")}]}
    assert refused(s3.complete_multipart_upload, **named, UploadId=id, MultipartUpload=wrong) == (
        400,
        "InvalidPart",
    )
    plain = plain_client(running_platform)
    try:
        call = upload(plain, bucket)
        assert (
            refused(plain.complete_multipart_upload, **call, ChecksumCRC32=crc32(b"".join(PARTS))) == invalid
        )
        assert "ChecksumCRC32" not in plain.complete_multipart_upload(**call)
    finally:
        plain.close()


def test_the_location_of_a_completed_upload_is_a_url(
    running_platform: Platform, s3: Any, bucket: str
) -> None:
    done = s3.complete_multipart_upload(**upload(s3, bucket))

    assert done["Location"] == f"{running_platform.url}/storage/v1/s3/{bucket}/in%20parts/%C3%A4"
