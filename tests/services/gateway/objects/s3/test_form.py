"""Forms of the S3 endpoint at the door: which requests are one, and what of one the pool is told."""

from typing import cast

import msgspec
import pytest
from aiohttp import web

from services.gateway.objects.s3.form import FIELDS, S3Form, is_form
from services.gateway.requests.routes import names_version

KIND = "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    ("method", "path", "kind", "expected"),
    [
        ("POST", "/s3/bucket", KIND, True),
        ("POST", "/s3/bucket/", KIND.upper(), True),
        ("POST", "/s3/bucket", "application/xml", False),
        ("POST", "/s3/bucket", None, False),
        ("PUT", "/s3/bucket", KIND, False),
        ("POST", "/s3/bucket/key", KIND, False),
        ("POST", "/s3", KIND, False),
        ("POST", "/s3/", KIND, False),
        ("POST", "/object/bucket", KIND, False),
    ],
)
def test_a_form_is_posted_to_a_bucket(method: str, path: str, kind: str | None, expected: bool) -> None:
    assert is_form(method, path, kind) is expected


def test_the_pool_is_told_the_fields_and_no_headers_of_s3_beside_them() -> None:
    fields = {"key": "k", "x-amz-security-token": "t", "x-amz-checksum-crc32": "c"}
    form = S3Form(fields, cast("web.BaseRequest", None))  # nothing reads the file here

    headers = form.headers([("host", "h"), ("x-amz-meta-evil", "1"), ("x-amz-content-sha256", "0" * 64)])

    assert [name for name, _ in headers] == ["host", "x-amz-checksum-crc32", FIELDS]
    assert msgspec.json.decode(dict(headers)[FIELDS]) == fields
    assert form.authorization == "Bearer t"


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/object/b/a", "versionId=x", True),
        ("HEAD", "/object/authenticated/b/a", "a=1&versionId", True),
        ("GET", "/render/image/public/b/a", "version%49d=x", True),
        ("GET", "/object/b/a", "", False),
        ("GET", "/object/b/a", "versionid=x", False),
        ("GET", "/object/b/a", "download=versionId", False),
        ("GET", "/s3/b/a", "versionId=x", False),
        ("POST", "/object/b/a", "versionId=x", False),
    ],
)
def test_reads_by_a_version_are_recognised(method: str, path: str, query: str, expected: bool) -> None:
    assert names_version(method, path, query) is expected
