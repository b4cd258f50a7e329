"""S3 bucket operations: list, create, head, delete, location. Policies apply as everywhere.

Source: docs/reference/storage.md, section 10.
"""

import msgspec
from msgspec import Struct

from schemas.http import Response
from workers.storage.buckets import rows
from workers.storage.buckets.rows import NewBucket
from workers.storage.model.names_and_sizes import check_bucket_name
from workers.storage.requests.context import StorageContext
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import invalid_argument
from workers.storage.s3.protocol.request import S3Request

_PUBLIC = ("public-read", "public-read-write")
_PRIVATE = ("", "private")


class _Bucket(Struct, frozen=True):
    name: str
    created_at: str | None


async def listing(context: StorageContext, request: S3Request) -> Response:
    """ListBuckets: the buckets that the caller may see."""
    buckets_json = await rows.list_buckets(
        context, request.storage_request, most=0, skipped=0, column="name", is_descending=False, search=""
    )
    listed = msgspec.json.decode(buckets_json, type=list[_Bucket])
    items: list[xml.Item] = [
        ("Bucket", [("Name", bucket.name), ("CreationDate", bucket.created_at or "")]) for bucket in listed
    ]
    owner = request.storage_request.caller.subject or ""
    return xml.xml_response(
        "ListAllMyBucketsResult", [("Owner", [("ID", owner), ("DisplayName", owner)]), ("Buckets", items)]
    )


async def create(context: StorageContext, request: S3Request) -> Response:
    """CreateBucket; `x-amz-acl: public-read` makes the bucket public. A location constraint is ignored."""
    acl = (request.header("x-amz-acl") or "").strip().lower()
    if acl not in _PUBLIC + _PRIVATE:
        raise invalid_argument("x-amz-acl must be private or public-read")
    if request.storage_request.body.strip():
        xml.read(request.storage_request.body, "CreateBucketConfiguration")
    check_bucket_name(request.bucket)
    await rows.create(
        context, request.storage_request, NewBucket(request.bucket, request.bucket, acl in _PUBLIC)
    )
    return Response(200, [("location", f"/{request.bucket}")])


async def head(context: StorageContext, request: S3Request) -> Response:
    """HeadBucket."""
    await rows.read_bucket(context, request.storage_request, request.bucket)
    return Response(200, [("x-amz-bucket-region", context.settings.s3_protocol.region)])


async def delete(context: StorageContext, request: S3Request) -> Response:
    """DeleteBucket: the bucket must be empty."""
    await rows.delete(context, request.storage_request, request.bucket)
    return Response(204)


async def location(context: StorageContext, request: S3Request) -> Response:
    """GetBucketLocation."""
    await rows.read_bucket(context, request.storage_request, request.bucket)
    region = context.settings.s3_protocol.region
    return Response(200, xml.TYPE, xml.text_document("LocationConstraint", region))


async def versioning(context: StorageContext, request: S3Request) -> Response:
    """GetBucketVersioning: always off."""
    await rows.read_bucket(context, request.storage_request, request.bucket)
    return xml.xml_response("VersioningConfiguration", [])
