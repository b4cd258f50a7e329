"""Forms of requests to the S3 endpoint at the gateway: which requests belong to it, and what the pool receives of them."""

import asyncio
from typing import cast

import msgspec
import pytest
from aiohttp import HttpVersion10, StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from multidict import CIMultiDict

from services.gateway.objects.s3.form import FIELDS, S3Form, is_form, open_form
from services.gateway.requests.forward import BodyRejected
from services.gateway.requests.routes import names_version
from services.gateway.requests.transfer_rate import TransferLimits, TransferRate

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


class _Posted:
    """A request with a form in memory."""

    version = HttpVersion10  # no client waits for `100 Continue`

    def __init__(self, form: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.headers = CIMultiDict({"content-type": KIND})
        self.content = StreamReader(BaseProtocol(loop), limit=len(form) + 1, loop=loop)
        self.content.feed_data(form)
        self.content.feed_eof()


@pytest.mark.parametrize(
    ("part", "error"),
    [
        (b'name=""\r\n\r\n', "The form has more than 100 fields"),
        (b'name="key"\r\n\r\n' + "é".encode() * 2000, "were too large"),
    ],
)
async def test_the_fields_of_a_form_are_limited_whatever_their_names(part: bytes, error: str) -> None:
    form = b"".join(b"--x\r\nContent-Disposition: form-data; " + part + b"\r\n" for _ in range(101))
    pace = TransferRate(TransferLimits(pause_s=30, rate=0, window_s=60))

    with pytest.raises(BodyRejected, match=error):
        await open_form(cast("web.BaseRequest", _Posted(form + b"--x--\r\n")), pace)
