"""Conditions of S3 writes and deletions: those of HTTP, and the size and time of DeleteObject. Pure.

`If-Match` for a free name is 404 `NoSuchKey` in Amazon S3, not 412.
Source: "Conditional requests" of the Amazon S3 user guide; docs/reference/storage.md, section 10.
"""

from dataclasses import dataclass

from schemas.http import Headers
from schemas.http_dates import parse_http_date
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.model.errors import no_such_key
from workers.storage.objects.rows import ObjectRow
from workers.storage.s3.protocol.errors import S3Error, invalid_argument
from workers.storage.s3.protocol.request import S3Request
from workers.storage.s3.protocol.xml import XmlNode
from workers.storage.uploads.write_conditions import (
    WriteCondition,
    precondition_failed,
    read_write_condition,
)


@dataclass(frozen=True, slots=True)
class S3WriteCondition(WriteCondition):
    """The state that an object must have to be replaced or deleted."""

    size: int | None = None
    modified: int | None = None
    """Epoch seconds."""

    def check(self, row: ObjectRow | None) -> None:
        """Compare with the row of the object, None if there is none. Raises: StorageError (404, 412)."""
        if self.match is not None and row is None:
            raise no_such_key()
        WriteCondition.check(self, row)
        if row is None:
            return
        if self.size is not None and row.size != self.size:
            raise precondition_failed()
        if self.modified is not None and int(row.modified.timestamp()) != self.modified:
            raise precondition_failed()


def condition_of_write(request: S3Request) -> S3WriteCondition | None:
    """Return the condition of PutObject, CopyObject or CompleteMultipartUpload; None without any."""
    return _condition(request.storage_request.http.headers)


def condition_of_deletion(request: S3Request) -> S3WriteCondition | None:
    """Return the condition of DeleteObject; None without any. Raises: S3Error (InvalidArgument)."""
    size = request.header("x-amz-if-match-size")
    time = request.header("x-amz-if-match-last-modified-time")
    return _condition(request.storage_request.http.headers, _size(size), _time(time))


def condition_of_key(node: XmlNode) -> S3WriteCondition | None:
    """Return the condition of an `Object` of DeleteObjects; None without any. Raises: S3Error.

    A version cannot be deleted: without it the current object would be deleted instead.
    """
    if node.value("VersionId") not in (None, "", "null"):
        raise S3Error("NotImplemented", "VersionId is not implemented: objects have no versions here", 501)
    etag = node.value("ETag")
    headers = [("if-match", etag.strip())] if etag else []
    return _condition(headers, _size(node.value("Size")), _time(node.value("LastModifiedTime")))


def _condition(
    headers: Headers, size: int | None = None, modified: int | None = None
) -> S3WriteCondition | None:
    http = read_write_condition(headers) or WriteCondition()
    condition = S3WriteCondition(http.match, http.none_match, http.unmodified_since, size, modified)
    return None if condition == S3WriteCondition() else condition


def _size(text: str | None) -> int | None:
    if not text:
        return None
    size = parse_whole_number(text.strip(), most=LARGEST_SIZE)
    if size is None:
        raise invalid_argument("The size of a condition must be a whole number of bytes")
    return size


def _time(text: str | None) -> int | None:
    if not text:
        return None
    time = parse_http_date(text)
    if time is None:
        raise invalid_argument("The time of a condition must be a date of HTTP")
    return time
