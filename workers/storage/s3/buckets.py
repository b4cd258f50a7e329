"""S3 bucket operations: list, create, head, delete, location. Policies apply as everywhere.

Source: docs/reference/storage.md, section 10.
"""

import msgspec
from msgspec import Struct

from schemas.http import Response
from workers.database.transactions.interactive import statement
from workers.sql.files import read_statements
from workers.storage.buckets import rows
from workers.storage.buckets.rows import NewBucket
from workers.storage.model.names_and_sizes import check_bucket_name
from workers.storage.requests.context import StorageContext
from workers.storage.s3.listing import read_token, token_of
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error, invalid_argument
from workers.storage.s3.protocol.request import S3Request

SQL = read_statements("workers.storage.s3", "buckets.sql")
MOST_BUCKETS = 10_000
_PUBLIC = "public-read"
_ACLS = (_PUBLIC, "private", "")


class _Bucket(Struct, frozen=True):
    name: str
    created_at: str | None


async def listing(context: StorageContext, request: S3Request) -> Response:
    """ListBuckets: the buckets that the caller may see, in pages of `max-buckets`."""
    prefix, token = request.parameter("prefix"), request.parameter("continuation-token")
    most = request.number("max-buckets", MOST_BUCKETS, least=1, most=MOST_BUCKETS + 1)
    if most > MOST_BUCKETS:
        raise invalid_argument(f"max-buckets must be between 1 and {MOST_BUCKETS}")
    values = (prefix, read_token(token) if token else "", most + 1)
    rows_read = (await context.run(request.storage_request.as_caller(), statement(SQL["list"], *values)))[0]
    listed = [msgspec.json.decode(row[0] or b"{}", type=_Bucket) for row in rows_read]
    if request.parameter("bucket-region") not in ("", context.settings.s3_protocol.region):
        listed = []
    page = listed[:most]
    items: list[xml.Item] = [
        ("Bucket", [("Name", bucket.name), ("CreationDate", bucket.created_at or "")]) for bucket in page
    ]
    owner = request.storage_request.caller.subject or ""
    more: list[xml.Item] = [("ContinuationToken", token_of(page[-1].name))] if len(listed) > most else []
    return xml.xml_response(
        "ListAllMyBucketsResult",
        [
            ("Owner", [("ID", owner), ("DisplayName", owner)]),
            ("Buckets", items),
            *more,
            *([("Prefix", prefix)] if prefix else []),
        ],
    )


async def create(context: StorageContext, request: S3Request) -> Response:
    """CreateBucket; `x-amz-acl: public-read` makes the bucket public. A location constraint is ignored."""
    acl = (request.header("x-amz-acl") or "").strip().lower()
    if acl not in _ACLS:
        message = "The header x-amz-acl is only implemented for private and public-read"
        raise S3Error("NotImplemented", message, 501, Header="x-amz-acl")
    if request.storage_request.body.strip():
        _check_configuration(xml.read(request.storage_request.body, "CreateBucketConfiguration"))
    check_bucket_name(request.bucket)
    await rows.create(
        context, request.storage_request, NewBucket(request.bucket, request.bucket, acl == _PUBLIC)
    )
    return Response(200, [("location", f"/{request.bucket}")])


def _check_configuration(node: xml.XmlNode) -> None:
    """Raises: S3Error (501) for a directory bucket, or one with tags."""
    for child in node.children:
        if child.name != "LocationConstraint":
            raise S3Error("NotImplemented", f"{child.name} of a new bucket is not implemented", 501)


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
