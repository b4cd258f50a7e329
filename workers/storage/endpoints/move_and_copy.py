"""Endpoints that move, copy, and rename folders. Source: docs/reference/storage.md, section 6.7;
docs/storage-additions.md.
"""

from collections.abc import Mapping

from schemas.http import Response
from workers.storage.model.content_headers import content_headers_of_fields, without_content_members
from workers.storage.model.errors import invalid_request, no_such_key
from workers.storage.model.names_and_sizes import (
    MOST_KEY_BYTES,
    cache_control_of,
    check_header_values,
    existing_key,
    parse_key,
    parse_prefix,
)
from workers.storage.objects.rows import ObjectRow
from workers.storage.requests.body_reader import BodyReader
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest, json_response, message_response
from workers.storage.uploads import move_and_copy
from workers.storage.uploads.model import ObjectAttributes, Upload, metadata_of
from workers.storage.uploads.move_and_copy import ObjectMove, rename_folder, visible_object
from workers.storage.uploads.rows import existing_name_as_412
from workers.storage.uploads.upload_headers import header_metadata
from workers.storage.uploads.write_conditions import (
    check_untagged_resource,
    read_write_condition,
    requires_absence,
)

_REPLACEABLE = (
    "cacheControl",
    "mimetype",
    "contentEncoding",
    "contentDisposition",
    "contentLanguage",
    "expires",
)
"""Members of `metadata` that a copy may replace."""


async def move(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/move`; with `sourcePrefix` and `destinationPrefix` it moves a folder with everything in it."""
    check_untagged_resource(request.http.headers)
    read = request.read()
    if read.has("sourcePrefix"):
        return await _folder(context, request, read)
    await move_and_copy.move(context, request, _way(context, read))
    return message_response("Successfully moved")


async def copy(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/copy`, under conditions about the destination.

    A copy onto itself is like any other: it needs `x-upsert: true` and writes a new version.
    """
    read = request.read()
    copies_metadata, inner = read.flag("copyMetadata", True), read.inner("metadata")
    replacement = inner or BodyReader("body/metadata", {})
    members = {name: replacement.text(name) for name in _REPLACEABLE}
    way = _way(context, read, replacement)
    row = await visible_object(context, request, way.bucket, way.key)
    condition = read_write_condition(request.http.headers)
    about = _kept_attributes(row) if copies_metadata else _replaced_attributes(request, row, members)
    upload = Upload(
        way.to_bucket,
        way.to_key,
        request.caller,
        request.caller.subject,
        request.is_true("x-upsert") and not requires_absence(condition),
        about,
        row.size,
        condition=condition,
    )
    metadata = (
        without_content_members(row.metadata or {}) | metadata_of(about, "", row.size) | {"eTag": row.etag}
    )
    with existing_name_as_412(upload):
        return json_response(await move_and_copy.copy(context, request, row, upload, metadata))


def _way(context: StorageContext, read: BodyReader, *others: BodyReader) -> ObjectMove:
    bucket = read.text("bucketId", needed=True)
    source, destination = read.text("sourceKey", needed=True), read.text("destinationKey", needed=True)
    to_bucket = read.text("destinationBucket") or bucket
    read.check(*others)
    key = parse_key(destination, is_unicode=context.settings.unicode_keys)
    return ObjectMove(bucket, existing_key(source), to_bucket, key)


def _kept_attributes(row: ObjectRow) -> ObjectAttributes:
    """Return the attributes of the source."""
    user_metadata = bytes(row.user_metadata)
    return ObjectAttributes(
        row.mime_type,
        row.cache_control,
        _robots_of(row),
        None if user_metadata == b"null" else user_metadata,
        row.content,
    )


def _replaced_attributes(
    request: StorageRequest, row: ObjectRow, members: Mapping[str, str]
) -> ObjectAttributes:
    """Return the attributes of the source with those that the request replaces. Raises: StorageError (400)."""
    cache = members["cacheControl"]
    content = row.content.members() | {name: text for name, text in members.items() if text}
    about = ObjectAttributes(
        members["mimetype"] or row.mime_type,
        cache_control_of(cache) if cache else row.cache_control,
        _robots_of(row),
        header_metadata(request),
        content_headers_of_fields(content),
    )
    check_header_values(about.mime_type, about.cache_control)
    return about


def _robots_of(row: ObjectRow) -> str:
    return str((row.metadata or {}).get("xRobotsTag") or "")


async def _folder(context: StorageContext, request: StorageRequest, read: BodyReader) -> Response:
    bucket = read.text("bucketId", needed=True)
    source, destination = read.text("sourcePrefix"), read.text("destinationPrefix", needed=True)
    read.check()
    folder = parse_prefix(source.rstrip("/")) + "/"
    to = parse_key(destination.rstrip("/"), is_unicode=context.settings.unicode_keys) + "/"
    if folder == "/" or to.startswith(folder):
        raise invalid_request("body/destinationPrefix must NOT be inside of body/sourcePrefix")
    count = await rename_folder(context, request, bucket, folder, to, MOST_KEY_BYTES)
    if not count:
        raise no_such_key()
    return json_response({"message": "Successfully moved", "count": count})
