"""An upload as a value, the limits that apply to it, and the metadata that its row gets. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from workers.storage.buckets.rows import BucketRules
from workers.storage.model.content_headers import ContentHeaders
from workers.storage.model.errors import (
    StorageError,
    quota_exceeded,
    too_large,
)
from workers.storage.model.media_types import check_mime_type, parse_media_type
from workers.storage.model.names_and_sizes import PLACEHOLDER, UploadRules, limit_of, parse_key
from workers.storage.requests.context import StorageContext
from workers.storage.requests.identity import StorageIdentity, uuid_or_none
from workers.storage.uploads.write_conditions import WriteCondition

Metadata = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ObjectAttributes:
    """The attributes of an uploaded object. Raises: StorageError (400) unless its type is exactly one media type."""

    mime_type: str
    cache_control: str
    robots: str = ""
    user_metadata: bytes | None = None
    """JSON of an object."""
    content: ContentHeaders = field(default_factory=ContentHeaders)
    checksums: Mapping[str, str] = field(default_factory=dict)
    """Checksums of the bytes that were verified for an S3 client: names of headers to base64."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mime_type", parse_media_type(self.mime_type))


@dataclass(frozen=True, slots=True)
class Upload:
    """An object to write. `identity`: the role whose policies apply; `length`: the declared length, or None."""

    bucket: str
    key: str
    identity: StorageIdentity
    owner_id: str | None
    is_upsert: bool
    attributes: ObjectAttributes
    length: int | None = None
    is_form: bool = False
    is_standard: bool = True
    """False for S3 and TUS: then the limit of standard uploads does not apply, only the general and the bucket's."""
    condition: WriteCondition | None = None
    """What must be true of the existing object when the row is written; `write_row` checks it under the lock."""

    @property
    def owner(self) -> tuple[str | None, str | None]:
        """Return the columns `owner` and `owner_id`."""
        return uuid_or_none(self.owner_id), self.owner_id


def name_of(context: StorageContext, upload: Upload) -> str | StorageError:
    """Return the name of the object, or the error for it, which is raised after other errors."""
    try:
        return parse_key(upload.key, is_unicode=context.settings.unicode_keys)
    except StorageError as error:
        return error


def size_limit_of(context: StorageContext, rules: BucketRules | UploadRules, upload: Upload) -> int:
    """Return the maximum bytes of this upload. Raises: StorageError for a type that the bucket does not allow."""
    if upload.key.endswith(PLACEHOLDER):
        return 0
    check_mime_type(upload.attributes.mime_type, rules.allowed_mime_types)
    settings = context.settings
    standard = settings.largest_standard if upload.is_standard else settings.largest
    return limit_of(rules.file_size_limit, standard=standard, largest=settings.largest)


def limit_by_quota(rules: BucketRules, most: int) -> int:
    """Return the maximum bytes of an upload after the quotas were applied."""
    return most if rules.room is None else min(most, rules.room)


def too_long_error(rules: BucketRules, most: int) -> StorageError:
    """Return the error for an upload that exceeds `limit_by_quota`."""
    return quota_exceeded() if rules.room is not None and rules.room < most else too_large()


def metadata_of(
    attributes: ObjectAttributes, md5: str, size: int, now: datetime | None = None
) -> dict[str, object]:
    """Return the column `metadata` of a row."""
    moment = (now or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    metadata: dict[str, object] = {
        "eTag": f'"{md5}"',
        "size": size,
        "mimetype": attributes.mime_type,
        "cacheControl": attributes.cache_control,
        "lastModified": moment,
        "contentLength": size,
        "httpStatusCode": 200,
    }
    robots = {"xRobotsTag": attributes.robots} if attributes.robots else {}
    checksums = {"checksums": attributes.checksums} if attributes.checksums else {}
    return metadata | robots | attributes.content.members() | checksums
