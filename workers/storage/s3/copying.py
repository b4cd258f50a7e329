"""CopyObject: from an object that the caller sees to one that he may write. Source: reference page "storage", 6.7, 10."""

from urllib.parse import unquote

from schemas.http import Response
from workers.storage.context import Store
from workers.storage.moving import copy as copy_object
from workers.storage.objects import ObjectRow
from workers.storage.rules import parse_key
from workers.storage.s3 import xml
from workers.storage.s3.asking import Asking
from workers.storage.s3.errors import S3Error, invalid_argument
from workers.storage.s3.headers import about_of, iso, refuse_unless_fit
from workers.storage.s3.reading import readable
from workers.storage.uploads import About, Upload, metadata_of

SOURCE = "x-amz-copy-source"
_CONDITIONS = "x-amz-copy-source-"


async def copy(store: Store, asking: Asking) -> Response:
    """CopyObject; `x-amz-metadata-directive: REPLACE` takes what the request says in place of what the source says."""
    directive = (asking.header("x-amz-metadata-directive") or "COPY").strip().upper()
    if directive not in ("COPY", "REPLACE"):
        raise invalid_argument("Unknown metadata directive.")
    row = await source_of(store, asking)
    key = parse_key(asking.key, is_unicode=store.settings.unicode_keys)
    is_still = (row.bucket_id, row.name) == (asking.bucket, key)
    if is_still and directive == "COPY":
        return _done(row.etag, iso(row.modified))
    about = about_of(asking) if directive == "REPLACE" else _about(row)
    who = asking.asked.caller
    upload = Upload(asking.bucket, key, who, who.subject, True, about, row.size, is_standard=False)
    metadata = (row.metadata or {}) | metadata_of(about, "", row.size) | {"eTag": row.etag}
    await copy_object(store, asking.asked, row, upload, metadata)
    return _done(row.etag, str(metadata["lastModified"]))


async def source_of(store: Store, asking: Asking) -> ObjectRow:
    """Give the object that `x-amz-copy-source` names, if its conditions hold. Raises: S3Error, StorageError."""
    text, _, version = (asking.header(SOURCE) or "").partition("?")
    bucket, _, key = unquote(text).removeprefix("/").partition("/")
    if not bucket or not key or version:
        raise S3Error(
            "InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey"
        )
    row = await readable(store, asking, bucket, key)
    refuse_unless_fit(asking, row, _CONDITIONS)
    return row


def _done(etag: str, modified: str) -> Response:
    return xml.answer("CopyObjectResult", [("ETag", etag), ("LastModified", modified)])


def _about(row: ObjectRow) -> About:
    own = bytes(row.user_metadata)
    robots = str((row.metadata or {}).get("xRobotsTag") or "")
    return About(row.mime_type, row.cache_control, robots, None if own == b"null" else own)
