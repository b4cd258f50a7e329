"""A claim -> HTTP: the edge sends a blob, whole or a range, or a 304 if the client has it already.

From a local disk the kernel copies file to socket (sendfile): the bytes never enter Python. uvloop offers no sendfile, so
it is called here, on a duplicate of the socket, once everything before has left the connection's buffer; for long files on
threads beside the loop.
"""

from collections.abc import Mapping

from aiohttp import web

from broker.blobs.blob_names import BlobPath, blob, part, transform
from broker.blobs.errors import BlobMissing
from broker.blobs.model import OpenBlob
from broker.blobs.store import BlobStore
from schemas.blobs import BlobClaim, BlobReference
from schemas.http import Headers, Response
from schemas.http_dates import http_date
from services.gateway.objects.conditions import ByteRange, InvalidByteRange, is_unchanged, range_of
from services.gateway.objects.file_copy import copy_to_socket
from services.gateway.objects.file_copy_threads import LONG_FILE, FileCopyThreads
from services.gateway.objects.file_responses import send_file
from services.gateway.requests.compression import ResponseCompression, encoded_headers
from services.gateway.requests.encoders import Encoder, encoded_piece
from services.gateway.requests.forward import response_headers

S3_PREFIX = "/storage/v1/s3"
_SMALL = 64 * 1024
"""Up to here a body is sent with its head in one write."""
MOST_ENCODED = 8 * 1024 * 1024
"""Bytes of the longest object that is compressed on its way: the kernel sends longer ones without copying them."""
_MISSING = (
    b'{"statusCode":"404","error":"Not found","message":"The resource was not found","code":"NoSuchKey"}'
)
_BAD_RANGE = (
    b'{"statusCode":"416","error":"invalid_range","message":"invalid range provided","code":"InvalidRange"}'
)
_OF_A_BODY = (
    "content-type", "content-disposition", "content-encoding", "content-language", "x-amz-checksum-"
)  # fmt: skip
"""Beginnings of headers that describe a body: a 304 has none (RFC 9110, 15.4.5), and an error has a body of its own."""
_JSON = ("content-type", "application/json; charset=utf-8")


class BlobSender:
    """Sends blobs."""

    def __init__(self, blobs: BlobStore, compression: ResponseCompression) -> None:
        self._blobs, self._compression = blobs, compression
        self._threads = FileCopyThreads()

    async def send(
        self,
        request: web.BaseRequest,
        response: Response,
        claim: BlobClaim,
        request_headers: Mapping[str, str],
        extra: Headers,
        content: bytes | None = None,
    ) -> web.StreamResponse:
        """Answer a request with the blob of a claim, whose bytes are `content` if they are in memory. Names of `request_headers` are in
        lower case.
        """
        head = [*response.headers, *_validators(claim)]
        if is_unchanged(request_headers, claim.etag, claim.modified):
            # The tag and `Vary` of the 200 that the same request would have got (RFC 9110, 15.4.5).
            coding = self._coding(
                request, head, ByteRange(0, claim.size), request_headers.get("accept-encoding")
            )
            whole = head if coding is None else encoded_headers(head, coding)
            headers = [pair for pair in whole if not pair[0].startswith(_OF_A_BODY)]
            return _without_body(304, headers, extra)
        try:
            requested = _requested(claim, request_headers, takes_range=_takes_range(request))
        except InvalidByteRange:
            return _whole(416, [_JSON, ("content-range", f"bytes */{claim.size}")], _BAD_RANGE, extra)
        if requested is not None:
            head.append(("content-range", f"bytes {requested.start}-{requested.stop - 1}/{claim.size}"))
        span, status = (
            requested or ByteRange(0, claim.size),
            206 if requested is not None else response.status,
        )
        coding = self._coding(request, head, span, request_headers.get("accept-encoding"))
        if coding is not None:
            head = encoded_headers(head, coding)
        encoder = self._compression.encoder(coding)
        if request.method == "HEAD":
            if encoder is not None:
                return _without_body(status, head, extra)
            return _without_body(status, [*head, ("content-length", str(span.size))], extra)
        try:
            if content is not None and encoder is None:
                return _whole(status, head, content[span.start : span.stop], extra)
            async with self._blobs.read(blob_name_of(claim.blob), span.start, span.stop) as reading:
                if encoder is not None:
                    return await _sent_encoded(request, status, head, extra, encoder, reading)
                return await _sent(request, status, head, extra, span, reading, self._threads)
        except BlobMissing:
            return _whole(404, [_JSON, ("cache-control", "no-store")], _MISSING, extra)

    async def close(self) -> None:
        """Abandon the long files under way."""
        await self._threads.close()

    def _coding(
        self, request: web.BaseRequest, head: Headers, span: ByteRange, accept: str | None
    ) -> str | None:
        """Return the coding of an object. S3 clients check the bytes, and a very long object is sent as it is."""
        if span.size > MOST_ENCODED or request.path.startswith(S3_PREFIX):
            return None
        return self._compression.coding_for(accept, head, span.size)


def _requested(claim: BlobClaim, headers: Mapping[str, str], *, takes_range: bool) -> ByteRange | None:
    """Return the bytes to send, None for all. Raises: InvalidByteRange."""
    if claim.part is not None:
        return ByteRange(*claim.part)
    if not claim.has_ranges or not takes_range:
        return None
    return range_of(headers, claim.size, claim.etag, claim.modified)


def blob_name_of(named: BlobReference) -> BlobPath:
    """Return the name of a blob in the store. Raises: ValueError if its version is not a UUID."""
    if named.upload:
        return part(named.upload, named.part, named.version)
    if named.transform:
        return transform(named.version, named.transform)
    return blob(named.bucket, named.version)


def _takes_range(request: web.BaseRequest) -> bool:
    """Return whether `Range` counts: for GET (RFC 9110, 14.2), and for HEAD where S3 defines it (HeadObject).

    S3 serves one range a request and ignores a header with several; REST answers that with 416, as its reference does.
    """
    if request.path.startswith(S3_PREFIX):
        return "," not in request.headers.get("range", "")
    return request.method == "GET"


def _validators(claim: BlobClaim) -> Headers:
    headers = [("accept-ranges", "bytes")] if claim.has_ranges else []
    if claim.etag:
        headers.append(("etag", claim.etag))
    if claim.modified:
        headers.append(("last-modified", http_date(claim.modified)))
    return headers


async def _sent(
    request: web.BaseRequest,
    status: int,
    head: Headers,
    extra: Headers,
    span: ByteRange,
    reading: OpenBlob,
    threads: FileCopyThreads,
) -> web.StreamResponse:
    if span.size <= _SMALL:
        body = b"".join([chunk async for chunk in reading.chunks])
        return _whole(status, head, body, extra)
    sent = web.StreamResponse(status=status, headers=response_headers(head, extra))
    sent.content_length = span.size
    await sent.prepare(request)
    file = reading.file
    copy = copy_to_socket if span.size < LONG_FILE else threads.copy
    if file is not None and await send_file(request, sent, file.fileno(), span, copy):
        return sent
    async for chunk in reading.chunks:
        await sent.write(chunk)
    await sent.write_eof()
    return sent


async def _sent_encoded(
    request: web.BaseRequest, status: int, head: Headers, extra: Headers, encoder: Encoder, reading: OpenBlob
) -> web.StreamResponse:
    sent = web.StreamResponse(status=status, headers=response_headers(head, extra))
    await sent.prepare(request)
    async for chunk in reading.chunks:
        await sent.write(await encoded_piece(encoder, chunk))
    await sent.write(encoder.finish())
    await sent.write_eof()
    return sent


def _whole(status: int, head: Headers, body: bytes, extra: Headers) -> web.Response:
    return web.Response(status=status, body=body, headers=response_headers(head, extra))


def _without_body(status: int, head: Headers, extra: Headers) -> web.Response:
    length = next((value for name, value in head if name == "content-length"), None)
    sent = web.Response(status=status, headers=response_headers(head, extra))
    sent.headers.popall("Content-Type", None)
    for name, value in head:
        if name == "content-type":
            sent.headers["Content-Type"] = value
    sent.headers.popall("Content-Length", None)
    if length is not None:
        sent.headers["Content-Length"] = length
    return sent
