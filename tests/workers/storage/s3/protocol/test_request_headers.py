"""The table of request headers: complete for the client in the tests, and the same in the documentation."""

import re
from pathlib import Path

import botocore.session  # type: ignore[import-untyped]  # ships no types
import pytest

from schemas.http import Request
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.s3.operations import operation_of
from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.request import S3Request, read_s3_request
from workers.storage.s3.protocol.request_headers import (
    HEADER_RULES,
    HeaderTreatment,
    check_request_headers,
    rule_of,
)

PAGE = Path(__file__).parents[5] / "docs" / "reference" / "storage.md"
OPERATIONS = (
    "PutObject", "CopyObject", "CreateMultipartUpload", "UploadPart", "UploadPartCopy", "CompleteMultipartUpload",
    "AbortMultipartUpload", "ListParts", "ListMultipartUploads", "GetObject", "HeadObject", "DeleteObject",
    "DeleteObjects", "ListObjects", "ListObjectsV2", "ListObjectVersions", "ListBuckets", "CreateBucket",
)  # fmt: skip


def s3_request(headers: list[tuple[str, str]], query: str = "") -> S3Request:
    return read_s3_request(StorageRequest(Request("r", "PUT", "/s3/b/k", query, headers), {}, ""))


def client_headers() -> set[str]:
    """Return every header that boto3 can send with the operations, in lower case."""
    model = botocore.session.get_session().get_service_model("s3")
    members = [
        member.serialization
        for operation in OPERATIONS
        for member in model.operation_model(operation).input_shape.members.values()
    ]
    return {place["name"].lower() for place in members if place.get("location") in ("header", "headers")}


def test_every_header_of_the_client_has_a_rule() -> None:
    names = {name + "x" if name.endswith("-") else name for name in client_headers()}

    assert [name for name in sorted(names) if rule_of(name) is None] == []


def test_no_header_has_two_rules() -> None:
    names = [rule.name for rule in HEADER_RULES]

    assert len(names) == len(set(names))


def test_the_documentation_has_the_same_table() -> None:
    section = PAGE.read_text().partition("### 10.4 Request headers")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?`) \| (honoured|ignored|rejected) \|", section, re.MULTILINE)
    documented = {name: treatment for names, treatment in rows for name in re.findall(r"`([^`]+)`", names)}

    assert documented == {rule.name: rule.treatment.value for rule in HEADER_RULES}


@pytest.mark.parametrize(
    "rule", [rule for rule in HEADER_RULES if rule.treatment is HeaderTreatment.REJECTED]
)
def test_a_rejected_header_is_named_in_its_error(rule: object) -> None:
    name = getattr(rule, "name", "").replace("*", "anything")
    if name == "x-amz-checksum-anything":
        name = "x-amz-checksum-xxhash64"

    with pytest.raises(S3Error) as error:
        check_request_headers(s3_request([(name, "Something")]))

    assert (error.value.code, error.value.status) == ("NotImplemented", 501)
    assert name in error.value.message
    check_request_headers(s3_request([(name, "")]))
    for value in getattr(rule, "accepted", ()):
        check_request_headers(s3_request([(name, value.upper())]))


def test_headers_count_in_the_query_and_as_trailers() -> None:
    with pytest.raises(S3Error):
        check_request_headers(s3_request([], "X-Amz-Storage-Class=GLACIER"))
    with pytest.raises(S3Error):
        check_request_headers(s3_request([("x-amz-trailer", "x-amz-checksum-xxhash3")]))
    check_request_headers(
        s3_request([("x-amz-trailer", "x-amz-checksum-crc32")], "X-Amz-Storage-Class=STANDARD")
    )
    check_request_headers(s3_request([("x-amz-unknown", "x"), ("x-amz-meta-tagging", "x")]))


def test_a_version_selects_no_operation_but_null() -> None:
    assert operation_of(s3_request([], "versionId=null")).name == "storage.s3.upload"
    with pytest.raises(S3Error):
        operation_of(s3_request([], "versionId=1234"))
