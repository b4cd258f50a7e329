"""CopyObject: copy an object that the caller may read to a key that the caller may write.

Source: docs/reference/storage.md, sections 6.7 and 10.
"""

from urllib.parse import unquote

from schemas.http import Response
from workers.storage.buckets.rows import read_rules
from workers.storage.model.content_headers import without_content_members
from workers.storage.model.names_and_sizes import parse_key
from workers.storage.objects.rows import ObjectRow
from workers.storage.requests.context import StorageContext
from workers.storage.s3.checksums import without_composite_checksums
from workers.storage.s3.conditions import condition_of_write
from workers.storage.s3.get_object import readable
from workers.storage.s3.part_sizes import without_part_sizes
from workers.storage.s3.protocol import xml
from workers.storage.s3.protocol.errors import S3Error, invalid_argument
from workers.storage.s3.protocol.headers import attributes_of, check_preconditions
from workers.storage.s3.protocol.request import S3Request
from workers.storage.uploads.model import ObjectAttributes, Upload, metadata_of
from workers.storage.uploads.move_and_copy import copy as copy_object
from workers.storage.uploads.rows import existing_name_as_412

SOURCE = "x-amz-copy-source"
_CONDITIONS = "x-amz-copy-source-"
_ONLY_VERSION = "versionId=null"
"""The only version of an object, as `ListObjectVersions` names it."""


async def copy(context: StorageContext, request: S3Request) -> Response:
    """CopyObject; with `x-amz-metadata-directive: REPLACE` the attributes come from the request, else from the source."""
    directive = (request.header("x-amz-metadata-directive") or "COPY").strip().upper()
    if directive not in ("COPY", "REPLACE"):
        raise invalid_argument("Unknown metadata directive.")
    row = await source_of(context, request)
    key = parse_key(request.key, is_unicode=context.settings.unicode_keys)
    is_still = (row.bucket_id, row.name) == (request.bucket, key)
    if is_still and directive == "COPY":
        message = (
            "This copy request is illegal because it is trying to copy an object to itself without changing its"
            " metadata: use x-amz-metadata-directive: REPLACE"
        )
        raise S3Error("InvalidRequest", message)
    await read_rules(context, request.storage_request, request.bucket)  # S3 names a missing bucket
    about = attributes_of(request) if directive == "REPLACE" else _about(row)
    who = request.storage_request.caller
    condition = condition_of_write(request)
    is_upsert = condition is None or not condition.requires_absence
    upload = Upload(
        request.bucket,
        key,
        who,
        who.subject,
        is_upsert,
        about,
        row.size,
        is_standard=False,
        condition=condition,
    )
    metadata = (
        without_composite_checksums(without_part_sizes(without_content_members(row.metadata or {})))
        | metadata_of(about, "", row.size)
        | {"eTag": row.etag}
    )
    with existing_name_as_412(upload):
        await copy_object(context, request.storage_request, row, upload, metadata)
    return _done(row.etag, str(metadata["lastModified"]))


async def source_of(context: StorageContext, request: S3Request) -> ObjectRow:
    """Return the object that `x-amz-copy-source` names, after its conditions were checked.

    Raises: S3Error, StorageError.
    """
    text, _, version = (request.header(SOURCE) or "").partition("?")
    bucket, _, key = unquote(text).removeprefix("/").partition("/")
    if not bucket or not key or version not in ("", _ONLY_VERSION):
        raise S3Error(
            "InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey"
        )
    row = await readable(context, request, bucket, key)
    check_preconditions(request, row, _CONDITIONS)
    return row


def _done(etag: str, modified: str) -> Response:
    return xml.xml_response("CopyObjectResult", [("ETag", etag), ("LastModified", modified)])


def _about(row: ObjectRow) -> ObjectAttributes:
    user_metadata = bytes(row.user_metadata)
    robots = str((row.metadata or {}).get("xRobotsTag") or "")
    return ObjectAttributes(
        row.mime_type,
        row.cache_control,
        robots,
        None if user_metadata == b"null" else user_metadata,
        row.content,
    )
