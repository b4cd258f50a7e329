"""Headers of TUS 1.0.0, read and written. Pure.

Source: tus.io, "Resumable upload protocol 1.0.x"; reference page "storage", section 9.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NamedTuple
from uuid import UUID

from schemas.http import Headers
from schemas.numbers import LARGEST_SIZE, parse_whole_number
from workers.storage.asked import Asked
from workers.storage.tus.refusals import Refused, bad_request

VERSION = ("tus-resumable", "1.0.0")
BODY_TYPE = "application/offset+octet-stream"
_EXPOSED = (
    "access-control-expose-headers",
    "Location, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Expires, Upload-Defer-Length, Tus-Version, "
    "Tus-Resumable, Tus-Max-Size, Tus-Extension, Tus-Checksum-Algorithm, Tus-Complete, X-Request-Id, Retry-After",
)
OWN: Headers = [VERSION, _EXPOSED]
"""What every answer has."""


class Name(NamedTuple):
    """What the last segment of an upload's URL spells."""

    bucket: str
    key: str
    version: str


def refuse_other_versions(asked: Asked) -> None:
    """Raises: Refused (412) unless the client speaks our version of the protocol."""
    if (asked.header(VERSION[0]) or "").strip() != VERSION[1]:
        raise Refused(412, "Tus-Resumable Required", [("tus-version", VERSION[1])])


def has_body(asked: Asked) -> bool:
    """Tell whether a request may carry bytes of the upload: a chunked body names no length."""
    return _is_body_type(asked) and (asked.header("content-length") or "").strip() != "0"


def refuse_other_bodies(asked: Asked) -> None:
    """Raises: Refused (400) unless the body is a piece of an upload."""
    if not _is_body_type(asked):
        raise bad_request("Invalid content-type")


def read_offset(asked: Asked) -> int:
    """Give where the client goes on. Raises: Refused (400)."""
    offset = _number(asked, "upload-offset")
    if offset is None:
        raise bad_request("Upload-Offset header required")
    return offset


def read_length(asked: Asked) -> int | None:
    """Give the length of a new upload; None where the client tells it later. Raises: Refused (400)."""
    length, deferred = asked.header("upload-length"), asked.header("upload-defer-length")
    if (length is None) == (deferred is None) or (deferred is not None and deferred.strip() != "1"):
        raise bad_request("Upload-Length or Upload-Defer-Length header required")
    return _number(asked, "upload-length")


def read_late_length(asked: Asked, known: int | None) -> int | None:
    """Give the length of an upload under way, which a request may tell where it was not known. Raises: Refused (400)."""
    told = _number(asked, "upload-length")
    if told is not None and known is not None and told != known:
        raise bad_request("Upload-Length cannot be changed")
    return known if told is None else told


def read_metadata(asked: Asked) -> tuple[str, Mapping[str, str]]:
    """Give `Upload-Metadata` as it was sent, and its values by name. Raises: Refused (400)."""
    sent = (asked.header("upload-metadata") or "").strip()
    if not sent:
        raise bad_request("Metadata header is required")
    found: dict[str, str] = {}
    for pair in sent.split(","):
        name, _, value = pair.strip().partition(" ")
        if not name or name in found or not (name.isascii() and name.isprintable()):
            raise bad_request("Upload-Metadata is malformed")
        found[name] = _text(value.strip())
    return sent, found


def spell(name: Name) -> str:
    """Give the last segment of an upload's URL."""
    return base64.urlsafe_b64encode("/".join(name).encode()).rstrip(b"=").decode()


def read_name(id: str) -> Name:
    """Read the last segment of an upload's URL. Raises: Refused (400)."""
    try:
        data = base64.b64decode(id + "=" * (-len(id) % 4), altchars=b"-_", validate=True)
        bucket, _, rest = data.decode().partition("/")
        key, _, version = rest.rpartition("/")
        return Name(bucket, key, str(UUID(version)))
    except (binascii.Error, ValueError):
        raise bad_request("The id of the upload cannot be read") from None


def expires(epoch_s: int) -> tuple[str, str]:
    """Give the header that tells until when an upload is kept."""
    return "upload-expires", format_datetime(datetime.fromtimestamp(epoch_s, UTC), usegmt=True)


def _is_body_type(asked: Asked) -> bool:
    return (asked.header("content-type") or "").partition(";")[0].strip().lower() == BODY_TYPE


def _number(asked: Asked, name: str) -> int | None:
    text = asked.header(name)
    if text is None:
        return None
    number = parse_whole_number(text.strip(), most=LARGEST_SIZE)
    if number is None:
        raise bad_request(f"{name.title()} header is not a number")
    return number


def _text(value: str) -> str:
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        raise bad_request("Upload-Metadata is malformed") from None
