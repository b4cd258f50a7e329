"""Subresources of buckets and objects that cannot be set here: their answers are those of a bucket where they never were.

Tools read them before they decide what to do (Terraform, AWS SDKs, backup programs). A read is answered with the code
that S3 has for "not configured", or with the empty document. A deletion of what is never set changes nothing: 204.
Setting one is 404 `NotImplemented`, as for any operation that does not exist here.
Source: GetBucketPolicy, GetBucketCors and their siblings in the Amazon S3 API reference; docs/reference/storage.md, 10.2.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec

from schemas.http import Response
from workers.storage.buckets.rows import read_bucket
from workers.storage.requests.context import StorageContext
from workers.storage.s3.get_object import readable
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.request import S3Request

Handler = Callable[[StorageContext, S3Request], Awaitable[Response]]

NEVER_SET: Mapping[str, tuple[str, str]] = {
    "cors": ("NoSuchCORSConfiguration", "The CORS configuration does not exist"),
    "encryption": (
        "ServerSideEncryptionConfigurationNotFoundError",
        "The server side encryption configuration was not found",
    ),
    "lifecycle": ("NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist"),
    "object-lock": (
        "ObjectLockConfigurationNotFoundError",
        "Object Lock configuration does not exist for this bucket",
    ),
    "ownershipControls": (
        "OwnershipControlsNotFoundError",
        "The bucket ownership controls were not found",
    ),
    "policy": ("NoSuchBucketPolicy", "The bucket policy does not exist"),
    "policyStatus": ("NoSuchBucketPolicy", "The bucket policy does not exist"),
    "publicAccessBlock": (
        "NoSuchPublicAccessBlockConfiguration",
        "The public access block configuration was not found",
    ),
    "replication": (
        "ReplicationConfigurationNotFoundError",
        "The replication configuration was not found",
    ),
    "tagging": ("NoSuchTagSet", "The TagSet does not exist"),
    "website": (
        "NoSuchWebsiteConfiguration",
        "The specified bucket does not have a website configuration",
    ),
}
"""Subresource of a bucket -> code and message of the 404 that reads it."""
EMPTY_DOCUMENTS: Mapping[str, tuple[str, list[xml.Item]]] = {
    "accelerate": ("AccelerateConfiguration", []),
    "logging": ("BucketLoggingStatus", []),
    "notification": ("NotificationConfiguration", []),
    "requestPayment": ("RequestPaymentConfiguration", [("Payer", "BucketOwner")]),
}
"""Subresource of a bucket -> the document that reads it."""
DELETABLE = frozenset(NEVER_SET) - {"object-lock", "policyStatus"}
"""Subresources of a bucket that S3 has a deletion for."""
_EVERYBODY = "http://acs.amazonaws.com/groups/global/AllUsers"
_GRANTEE = 'Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type='


class _Bucket(msgspec.Struct, frozen=True):
    public: bool = False
    owner: str | None = None


async def bucket_acl(context: StorageContext, request: S3Request) -> Response:
    """GetBucketAcl: full control for the owner; reading for all users if the bucket is public."""
    bucket = await _bucket(context, request, request.bucket)
    return _access_list(bucket.owner or "", is_public=bucket.public)


async def object_acl(context: StorageContext, request: S3Request) -> Response:
    """GetObjectAcl: full control for the owner; reading for all users if the bucket is public."""
    row = await readable(context, request, request.bucket, request.key)
    bucket = await _bucket(context, request, row.bucket_id)
    return _access_list(bucket.owner or "", is_public=bucket.public)


def bucket_reads() -> dict[str, Handler]:
    """Return the handler of each subresource of a bucket that can be read."""
    errors: dict[str, Handler] = {name: partial(_not_set, fault=fault) for name, fault in NEVER_SET.items()}
    documents: dict[str, Handler] = {
        name: partial(_document, document=document) for name, document in EMPTY_DOCUMENTS.items()
    }
    return {"acl": bucket_acl, **errors, **documents}


async def delete_of_bucket(context: StorageContext, request: S3Request) -> Response:
    """Delete a configuration of a bucket that is never set: 204, as in S3."""
    await read_bucket(context, request.storage_request, request.bucket)
    return Response(204)


async def delete_tags(context: StorageContext, request: S3Request) -> Response:
    """DeleteObjectTagging: an object has no tags, so nothing changes."""
    await readable(context, request, request.bucket, request.key)
    return Response(204)


async def object_lock(context: StorageContext, request: S3Request) -> Response:
    """GetObjectRetention, GetObjectLegalHold. Raises: S3Error (400): no bucket locks objects."""
    await readable(context, request, request.bucket, request.key)
    raise S3Error("InvalidRequest", "Bucket is missing Object Lock Configuration")


async def _not_set(context: StorageContext, request: S3Request, *, fault: tuple[str, str]) -> Response:
    await read_bucket(context, request.storage_request, request.bucket)
    code, message = fault
    raise S3Error(code, message, 404, BucketName=request.bucket)


async def _document(
    context: StorageContext, request: S3Request, *, document: tuple[str, list[xml.Item]]
) -> Response:
    await read_bucket(context, request.storage_request, request.bucket)
    return xml.xml_response(*document)


async def _bucket(context: StorageContext, request: S3Request, bucket: str) -> _Bucket:
    return msgspec.json.decode(await read_bucket(context, request.storage_request, bucket), type=_Bucket)


def _access_list(owner: str, *, is_public: bool) -> Response:
    named: list[xml.Item] = [("ID", owner), ("DisplayName", owner)]
    grants: list[xml.Item] = [
        ("Grant", [(f'{_GRANTEE}"CanonicalUser"', named), ("Permission", "FULL_CONTROL")])
    ]
    if is_public:
        grants.append(("Grant", [(f'{_GRANTEE}"Group"', [("URI", _EVERYBODY)]), ("Permission", "READ")]))
    return xml.xml_response("AccessControlPolicy", [("Owner", named), ("AccessControlList", grants)])
