"""Every header of S3 requests, and what the endpoint does with it. A table, and the check that reads it. Pure.

A header that asks for something this endpoint does not do is rejected with 501 `NotImplemented`: a client that asks for
encryption, a lock or a grant must not believe that it got it. Some values of such headers ask for nothing, or for what is
the case anyway; they are accepted. The same names count in the query of a presigned URL and in the fields of a form.
Source: the request headers of PutObject, CopyObject, CreateMultipartUpload, UploadPart, UploadPartCopy,
CompleteMultipartUpload, AbortMultipartUpload, GetObject, HeadObject, DeleteObject, DeleteObjects, ListObjects,
ListObjectsV2, ListParts, ListMultipartUploads, ListBuckets and CreateBucket in the Amazon S3 API reference;
docs/reference/storage.md, section 10.4 (a test compares both tables).
"""

from dataclasses import dataclass
from enum import StrEnum

from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.request import S3Request


class HeaderTreatment(StrEnum):
    """What the endpoint does with a header."""

    HONOURED = "honoured"
    IGNORED = "ignored"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """The treatment of a header. A name that ends in `*` is a prefix, for headers without a rule of their own."""

    name: str
    treatment: HeaderTreatment
    note: str
    """How it is honoured; why it can be ignored; what else to do, as the error message says it."""
    accepted: frozenset[str] = frozenset()
    """Values, in lower case, that a rejected header may have."""


def _honoured(note: str, *names: str) -> list[HeaderRule]:
    return [HeaderRule(name, HeaderTreatment.HONOURED, note) for name in names]


def _ignored(note: str, *names: str) -> list[HeaderRule]:
    return [HeaderRule(name, HeaderTreatment.IGNORED, note) for name in names]


def _rejected(name: str, note: str, *accepted: str) -> HeaderRule:
    return HeaderRule(name, HeaderTreatment.REJECTED, note, frozenset(accepted))


HEADER_RULES = (
    *_honoured("stored with the object and sent with it", "cache-control", "content-disposition"),
    *_honoured("stored with the object and sent with it", "content-encoding", "content-language"),
    *_honoured("stored with the object and sent with it", "content-type", "expires", "x-amz-meta-*"),
    *_honoured("verified", "content-length", "content-md5", "x-amz-content-sha256"),
    *_honoured("verified", "x-amz-decoded-content-length", "x-amz-trailer", "x-amz-mp-object-size"),
    *_honoured("verified", "x-amz-checksum-crc32", "x-amz-checksum-crc32c", "x-amz-checksum-crc64nvme"),
    *_honoured("verified", "x-amz-checksum-md5", "x-amz-checksum-sha1", "x-amz-checksum-sha256"),
    *_honoured("verified", "x-amz-checksum-sha512"),
    *_honoured("a condition of reads and writes", "if-match", "if-none-match", "if-unmodified-since"),
    *_honoured("a condition of reads", "if-modified-since"),
    *_honoured("conditions of a deletion", "x-amz-if-match-size", "x-amz-if-match-last-modified-time"),
    *_honoured("one range of bytes", "range", "x-amz-copy-source-range"),
    *_honoured("source of a copy, and its conditions", "x-amz-copy-source", "x-amz-copy-source-if-*"),
    *_honoured("`COPY` or `REPLACE`", "x-amz-metadata-directive"),
    *_honoured("`private` and `public-read` must be what the bucket is; see below", "x-amz-acl"),
    *_honoured("403 unless it is the `owner_id` of the bucket", "x-amz-expected-bucket-owner"),
    *_honoured("403 unless it is the `owner_id` of the bucket", "x-amz-source-expected-bucket-owner"),
    *_honoured("the signature", "authorization", "x-amz-date", "x-amz-security-token"),
    *_ignored("objects have no tags, so nothing is copied or replaced", "x-amz-tagging-directive"),
    *_ignored("no retention exists", "x-amz-bypass-governance-retention", "x-amz-mfa"),
    *_ignored("requests cost nothing", "x-amz-request-payer"),
    *_ignored("names the checksum that another header or a trailer has", "x-amz-sdk-checksum-algorithm"),
    *_honoured("`ENABLED` returns the stored checksums of the whole object", "x-amz-checksum-mode"),
    *_honoured("of a multipart upload: the checksum of the whole", "x-amz-checksum-algorithm"),
    *_honoured("of a multipart upload: the checksum of the whole", "x-amz-checksum-type"),
    *_ignored("no object is archived", "x-amz-optional-object-attributes"),
    *_ignored("the client describes itself", "x-amz-user-agent", "x-amz-cf-id", "x-amz-te"),
    _rejected("x-amz-server-side-encryption*", "encrypt the disk or the bucket of the platform"),
    _rejected("x-amz-copy-source-server-side-encryption-*", "no object is encrypted with a key of a client"),
    _rejected("x-amz-object-lock-*", "objects cannot be locked", "off"),
    _rejected("x-amz-bucket-object-lock-enabled", "objects cannot be locked", "false"),
    _rejected("x-amz-tagging", "use x-amz-meta- headers"),
    _rejected("x-amz-grant-*", "write policies for storage.objects"),
    _rejected("x-amz-storage-class", "STANDARD is the only storage class", "standard"),
    _rejected("x-amz-website-redirect-location", "buckets are not web sites"),
    _rejected("x-amz-object-ownership", "buckets own their objects", "bucketownerenforced"),
    _rejected("x-amz-bucket-namespace", "bucket names are global", "global"),
    _rejected(
        "x-amz-write-offset-bytes", "objects cannot be appended to; use a multipart or resumable upload"
    ),
    _rejected("x-amz-if-match-initiated-time", "abort the upload without a condition"),
    _rejected("x-amz-object-annotation-directive", "objects have no annotations", "copy"),
    _rejected("x-amz-checksum-*", "use CRC32, CRC32C, CRC64NVME, MD5, SHA1, SHA256 or SHA512"),
    _rejected("content-range", "a part of an object cannot be replaced"),
)


_BY_NAME = {rule.name: rule for rule in HEADER_RULES}
_BY_PREFIX = {rule.name[:-1]: rule for rule in HEADER_RULES if rule.name.endswith("*")}


def rule_of(name: str) -> HeaderRule | None:
    """Return the rule of a header, name in lower case; None for a header that the table does not have."""
    if (rule := _BY_NAME.get(name)) is not None or not name.startswith("x-amz-"):
        return rule
    return next((rule for prefix, rule in _BY_PREFIX.items() if name.startswith(prefix)), None)


def check_request_headers(request: S3Request) -> None:
    """Raises: S3Error (501) for a header that asks for what the endpoint does not do."""
    in_query = [(name.lower(), value) for name, value in request.query if name.lower().startswith("x-amz-")]
    for name, value in [*request.headers.items(), *in_query]:
        _check(name, value)
    for trailer in request.headers.get("x-amz-trailer", "").split(","):
        _check(trailer.strip().lower(), "announced as a trailer")


def _check(name: str, value: str) -> None:
    rule = rule_of(name)
    if rule is None or rule.treatment is not HeaderTreatment.REJECTED:
        return
    if value.strip().lower() in ("", *rule.accepted):
        return
    message = f"The header {name} is not implemented: {rule.note}"
    raise S3Error("NotImplemented", message, 501, Header=name)
