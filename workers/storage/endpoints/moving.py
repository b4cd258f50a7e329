"""Move, copy, and rename of folders. Source: reference page "storage", section 6.7; docs/storage-additions.md."""

from schemas.http import Response
from workers.storage.asked import Asked, answer, done
from workers.storage.context import Store
from workers.storage.endpoints.upload import header_metadata
from workers.storage.errors import invalid_request, no_such_key
from workers.storage.moving import Way, copy, move, rename_folder, visible_object, whole_row
from workers.storage.objects import ObjectRow
from workers.storage.reading import Reader
from workers.storage.rules import (
    MOST_KEY_BYTES,
    cache_control_of,
    existing_key,
    parse_key,
    parse_prefix,
    refuse_unsendable,
)
from workers.storage.uploads import About, Upload, metadata_of


async def moving(store: Store, asked: Asked) -> Response:
    """`POST object/move`; with `sourcePrefix` and `destinationPrefix` a folder with all that is in it."""
    read = asked.read()
    if read.has("sourcePrefix"):
        return await _folder(store, asked, read)
    await move(store, asked, _way(store, read))
    return done("Successfully moved")


async def copying(store: Store, asked: Asked) -> Response:
    """`POST object/copy`."""
    read = asked.read()
    keeps, given = read.flag("copyMetadata", True), read.inner("metadata")
    cache = given.text("cacheControl") if given else ""
    mime_type = given.text("mimetype") if given else ""
    way = _way(store, read, *([given] if given else []))
    row = await visible_object(store, asked, way.bucket, way.key)
    if way.is_still:
        return answer(await whole_row(store, asked, way.bucket, way.key))
    about = _about(asked, row, keeps, cache, mime_type)
    upload = Upload(
        way.to_bucket,
        way.to_key,
        asked.caller,
        asked.caller.subject,
        asked.is_true("x-upsert"),
        about,
        row.size,
    )
    metadata = (row.metadata or {}) | metadata_of(about, "", row.size) | {"eTag": row.etag}
    return answer(await copy(store, asked, row, upload, metadata))


def _way(store: Store, read: Reader, *others: Reader) -> Way:
    bucket = read.text("bucketId", needed=True)
    source, destination = read.text("sourceKey", needed=True), read.text("destinationKey", needed=True)
    to_bucket = read.text("destinationBucket") or bucket
    read.check(*others)
    key = parse_key(destination, is_unicode=store.settings.unicode_keys)
    return Way(bucket, existing_key(source), to_bucket, key)


def _about(asked: Asked, row: ObjectRow, keeps: bool, cache: str, mime_type: str) -> About:
    """Give what a copy says of itself: as its source, but for what is given in place of that."""
    robots = str((row.metadata or {}).get("xRobotsTag") or "")
    if keeps:
        own = bytes(row.user_metadata)
        return About(row.mime_type, row.cache_control, robots, None if own == b"null" else own)
    about = About(
        mime_type or row.mime_type,
        cache_control_of(cache) if cache else row.cache_control,
        robots,
        header_metadata(asked),
    )
    refuse_unsendable(about.mime_type, about.cache_control)
    return about


async def _folder(store: Store, asked: Asked, read: Reader) -> Response:
    bucket = read.text("bucketId", needed=True)
    source, destination = read.text("sourcePrefix"), read.text("destinationPrefix", needed=True)
    read.check()
    folder = parse_prefix(source.rstrip("/")) + "/"
    to = parse_key(destination.rstrip("/"), is_unicode=store.settings.unicode_keys) + "/"
    if folder == "/" or to.startswith(folder):
        raise invalid_request("body/destinationPrefix must NOT be inside of body/sourcePrefix")
    count = await rename_folder(store, asked, bucket, folder, to, MOST_KEY_BYTES)
    if not count:
        raise no_such_key()
    return answer({"message": "Successfully moved", "count": count})
