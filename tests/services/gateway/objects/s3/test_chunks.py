"""aws-chunked bodies: Amazon's published example, and what tampering makes of it."""

import base64
import hashlib
import hmac
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.blobs import BlobReference, UploadGrant
from services.gateway.objects.s3.body import object_bytes
from services.gateway.objects.s3.chunks import ChunkDecoder, InvalidS3Body, SignatureChain
from services.gateway.objects.s3.errors import session_token
from tests.fuzz.mutate import near

SEED = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
FIRST = "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"
SECOND = "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"
LAST = "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"
DATE, SCOPE = "20130524T000000Z", "20130524/us-east-1/s3/aws4_request"
EXAMPLE = (
    f"10000;chunk-signature={FIRST}\r\n".encode() + b"a" * 65536 + b"\r\n"
    + f"400;chunk-signature={SECOND}\r\n".encode() + b"a" * 1024 + b"\r\n"
    + f"0;chunk-signature={LAST}\r\n\r\n".encode()
)  # fmt: skip


def key() -> bytes:
    """Return the signing key of Amazon's example."""
    made = b"AWS4wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    for part in ("20130524", "us-east-1", "s3", "aws4_request"):
        made = hmac.digest(made, part.encode(), "sha256")
    return made


def chunks(size: int = 66560, *, has_trailers: bool = False) -> ChunkDecoder:
    return ChunkDecoder(SignatureChain(key(), DATE, SCOPE, SEED), size, has_trailers=has_trailers)


def read(one: ChunkDecoder, data: bytes, step: int = 1 << 20) -> bytes:
    """Feed a body in pieces, to its end."""
    found = [piece for at in range(0, len(data), step) for piece in one.feed(data[at : at + step])]
    one.finish()
    return b"".join(found)


def signed_trailers(trailer: str, last: str = LAST) -> bytes:
    """Return signed trailers behind the example's chunks."""
    hashed = hashlib.sha256(f"{trailer}\n".encode()).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256-TRAILER", DATE, SCOPE, last, hashed))
    signature = hmac.digest(key(), text.encode(), "sha256").hex()
    return f"{trailer}\r\nx-amz-trailer-signature:{signature}\r\n\r\n".encode()


@pytest.mark.parametrize("step", [1, 7, 1000, 1 << 20])
def test_the_published_example_is_read(step: int) -> None:
    assert read(chunks(), EXAMPLE, step) == b"a" * 66560


class CountedBytes(bytes):
    """Bytes that count how many of them are copied."""

    copied = 0

    def __getitem__(self, place: Any) -> Any:
        part = CountedBytes(super().__getitem__(place))
        CountedBytes.copied += len(part)
        return part

    def partition(self, separator: Any) -> Any:
        parts = super().partition(separator)
        CountedBytes.copied += sum(map(len, parts))
        return tuple(map(CountedBytes, parts))


def test_the_work_grows_with_the_body_and_not_with_its_chunks() -> None:
    body = CountedBytes(b"1\r\nx\r\n" * 1000 + b"0\r\n\r\n")

    assert read(ChunkDecoder(None, 1000, has_trailers=False), body, len(body)) == b"x" * 1000
    assert CountedBytes.copied < 4 * len(body)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (EXAMPLE.replace(b"aaaa\r\n400", b"aaab\r\n400"), "SignatureDoesNotMatch"),
        (EXAMPLE.replace(FIRST.encode(), SECOND.encode(), 1), "SignatureDoesNotMatch"),
        (EXAMPLE.replace(LAST.encode(), b"0" * 64), "SignatureDoesNotMatch"),
        (EXAMPLE.replace(f";chunk-signature={FIRST}".encode(), b""), "SignatureDoesNotMatch"),
        (
            EXAMPLE.partition(b"400;")[0] + f"0;chunk-signature={LAST}\r\n\r\n".encode(),
            "SignatureDoesNotMatch",
        ),
        (EXAMPLE[:-2], "IncompleteBody"),
        (EXAMPLE[:60000], "IncompleteBody"),
        (b"", "IncompleteBody"),
        (EXAMPLE + b"more", "InvalidChunk"),
        (b"zz;chunk-signature=1\r\n", "InvalidChunk"),
        (b"-5;chunk-signature=" + FIRST.encode() + b"\r\n", "InvalidChunk"),
        (b"x" * 5000, "InvalidChunk"),
        (b"fffffffffff;chunk-signature=" + FIRST.encode() + b"\r\n", "IncompleteBody"),
        (EXAMPLE[:-2] + b"x-amz-checksum-crc32:AAAAAA==\r\n\r\n", "MalformedTrailerError"),
    ],
)
def test_a_tampered_body_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(InvalidS3Body) as spoilt:
        read(chunks(), body, 1000)

    assert spoilt.value.code == code


def test_a_body_of_another_length_than_announced_is_refused() -> None:
    with pytest.raises(InvalidS3Body, match="IncompleteBody"):
        read(chunks(66561), EXAMPLE)


def test_signed_trailers_are_read() -> None:
    one = chunks(has_trailers=True)

    read(one, EXAMPLE[:-2] + signed_trailers("x-amz-checksum-crc32c:sOO8/Q=="))

    assert one.trailers == {"x-amz-checksum-crc32c": "sOO8/Q=="}


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (
            signed_trailers("x-amz-checksum-crc32c:sOO8/Q==").replace(b"sOO8", b"sOO9"),
            "SignatureDoesNotMatch",
        ),
        (b"x-amz-checksum-crc32c:sOO8/Q==\r\n\r\n", "MalformedTrailerError"),
        (b"\r\n", "MalformedTrailerError"),
        (b"nothing\r\n\r\n", "MalformedTrailerError"),
    ],
)
def test_tampered_trailers_are_refused(end: bytes, code: str) -> None:
    with pytest.raises(InvalidS3Body) as spoilt:
        read(chunks(has_trailers=True), EXAMPLE[:-2] + end)

    assert spoilt.value.code == code


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=6), st.integers(1, 50))
def test_unsigned_chunks_give_back_what_they_hold(pieces: list[bytes], step: int) -> None:
    body = b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces)
    whole = b"".join(pieces)

    one = ChunkDecoder(None, len(whole), has_trailers=True)

    assert read(one, body + b"0\r\nx-amz-checksum-crc32:x\r\n\r\n", step) == whole
    assert one.trailers == {"x-amz-checksum-crc32": "x"}


def signed_body(pieces: list[bytes], trailer: str = "") -> bytes:
    """Sign pieces as the example's client does."""
    body, last = b"", SEED
    for piece in [*pieces, b""]:
        text = "\n".join(
            (
                "AWS4-HMAC-SHA256-PAYLOAD",
                DATE,
                SCOPE,
                last,
                hashlib.sha256(b"").hexdigest(),
                hashlib.sha256(piece).hexdigest(),
            )
        )
        last = hmac.digest(key(), text.encode(), "sha256").hex()
        body += f"{len(piece):x};chunk-signature={last}\r\n".encode() + piece + b"\r\n"
    return body[:-2] + (signed_trailers(trailer, last) if trailer else b"\r\n")


PIECES = [b"hello ", b"w" * 70, b"orld"]
WHOLE = b"".join(PIECES)
SIGNED, SIGNED_WITH_TRAILER = signed_body(PIECES), signed_body(PIECES, "x-amz-checksum-crc32c:sOO8/Q==")
UNSIGNED = b"6\r\nhello \r\n4A\r\n" + b"w" * 70 + b"orld\r\n0\r\nx-amz-checksum-crc32:x\r\n\r\n"
CHUNK_WORDS = [
    b"\r\n",
    b";chunk-signature=",
    b"0;",
    b"0\r\n",
    b"ffffffffffffffff",
    b"-1",
    b"x-amz-",
    b":",
    b"a" * 20_000,
]


@given(
    near([SIGNED, SIGNED_WITH_TRAILER, UNSIGNED], CHUNK_WORDS) | st.binary(max_size=300),
    st.booleans(),
    st.integers(1, 400),
)
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes, has_trailers: bool, step: int) -> None:
    size = len(WHOLE)
    signed, unsigned = (
        chunks(size, has_trailers=has_trailers),
        ChunkDecoder(None, size, has_trailers=has_trailers),
    )
    for one in (signed, unsigned):
        try:
            body = read(one, data, step)
        except InvalidS3Body:
            continue

        assert len(body) == size
        assert one is unsigned or body == WHOLE


WANTED = UploadGrant(BlobReference("b", "v"), 1000, b"")
HASH = hashlib.sha256(b"hello").hexdigest()
CRC32C, CRC64NVME = "mnG7TA==", "M3eFcAZSQlc="
"""Of `hello`, as the clients of AWS spell them."""
CRC32 = base64.b64encode(zlib.crc32(b"hello").to_bytes(4, "big")).decode()


async def whole(data: bytes, headers: dict[str, str], wanted: UploadGrant = WANTED, query: str = "") -> bytes:
    async def pieces() -> AsyncIterator[bytes]:
        yield data[:2]
        yield data[2:]

    return b"".join([piece async for piece in object_bytes(pieces(), headers, query, wanted, {})])


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, None),
        ({"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}, None),
        ({"x-amz-content-sha256": HASH}, None),
        ({"x-amz-content-sha256": HASH.upper()}, None),
        ({"x-amz-content-sha256": "0" * 64}, "XAmzContentSHA256Mismatch"),
        ({"x-amz-checksum-crc32": CRC32}, None),
        ({"x-amz-checksum-crc32": "AAAAAA=="}, "BadDigest"),
        ({"x-amz-checksum-sha1": base64.b64encode(hashlib.sha1(b"hello").digest()).decode()}, None),
        ({"x-amz-checksum-sha256": "AAAA"}, "InvalidRequest"),
        ({"x-amz-checksum-sha256": "no base64"}, "InvalidRequest"),
        ({"x-amz-checksum-sha512": base64.b64encode(hashlib.sha512(b"hello").digest()).decode()}, None),
        ({"x-amz-checksum-md5": base64.b64encode(hashlib.md5(b"hello").digest()).decode()}, None),
        ({"x-amz-checksum-md5": base64.b64encode(hashlib.md5(b"other").digest()).decode()}, "BadDigest"),
        ({"x-amz-checksum-crc32c": CRC32C}, None),
        ({"x-amz-checksum-crc32c": CRC32}, "BadDigest"),
        ({"x-amz-checksum-crc64nvme": CRC64NVME}, None),
        ({"x-amz-checksum-crc64nvme": "AAAAAAAAAAA="}, "BadDigest"),
        ({"x-amz-checksum-xxhash3": "not looked at"}, None),
        ({"x-amz-trailer": "x-amz-checksum-crc32"}, "MalformedTrailerError"),
    ],
)
async def test_every_hash_that_was_given_is_held(headers: dict[str, str], code: str | None) -> None:
    if code is None:
        assert await whole(b"hello", headers) == b"hello"
        return
    with pytest.raises(InvalidS3Body) as spoilt:
        await whole(b"hello", headers)

    assert spoilt.value.code == code


CRC_TRAILER, IN_HEADER = "x-amz-checksum-crc32", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
IN_QUERY = f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Content%2DSha256={IN_HEADER}"


@pytest.mark.parametrize(
    ("crc", "announced", "payload", "query", "code"),
    [
        (CRC32, CRC_TRAILER, IN_HEADER, "", None),
        (CRC32, CRC_TRAILER, "", IN_QUERY, None),
        ("AAAAAA==", CRC_TRAILER, IN_HEADER, "", "BadDigest"),
        ("AAAAAA==", "", IN_HEADER, "", "MalformedTrailerError"),
    ],
)
async def test_the_checksum_of_a_trailer_is_held(
    crc: str, announced: str, payload: str, query: str, code: str | None
) -> None:
    headers = {
        "x-amz-content-sha256": payload,
        "x-amz-decoded-content-length": "5",
        "x-amz-trailer": announced,
    }
    body = f"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:{crc}\r\n\r\n".encode()
    wanted = UploadGrant(BlobReference("b", "v"), 1000, b"", is_chunked=True)

    if code is None:
        assert await whole(body, headers, wanted, query) == b"hello"
        return
    with pytest.raises(InvalidS3Body, match=code):
        await whole(body, headers, wanted, query)


def test_a_session_token_comes_from_header_or_query() -> None:
    assert session_token({"authorization": "AWS4-HMAC-SHA256 x"}, "") is None
    assert session_token({"x-amz-security-token": "t"}, "") == "Bearer t"
    assert session_token({}, "X-Amz-Security-Token=a%2Eb&x=1") == "Bearer a.b"
    assert session_token({}, "a=1&" * 5000 + "x-amz-security-token=t") == "Bearer t"
