"""Checksums of S3 objects: the gateway verifies them while the bytes arrive, the row keeps them, downloads return them. Pure.

Only the checksums that the client declared exist. That of a multipart upload follows from those of its parts
(`multipart/whole_checksum.py`); a COMPOSITE one ends with the number of the parts, and copies do not have it. Source: "Checking object integrity" of the Amazon S3 user
guide; docs/reference/storage.md, section 10.
"""

import re
from collections.abc import Mapping

from schemas.blobs import StoredBody
from schemas.http import Headers
from workers.storage.objects.rows import ObjectRow
from workers.storage.s3.protocol.request import S3Request

_NAME = re.compile(r"x-amz-checksum-[a-z0-9]{3,10}", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9+/]{4,88}={0,2}(?:-[0-9]{1,5})?", re.ASCII)


def verified_checksums(stored: StoredBody) -> dict[str, str]:
    """Return the checksums that the gateway verified: names of headers to base64."""
    return _valid(stored.fields)


def checksum_type(checksums: Mapping[str, str]) -> str:
    """Return the type of the checksums of an object."""
    return "COMPOSITE" if any("-" in value for value in checksums.values()) else "FULL_OBJECT"


def without_composite_checksums(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return the column `metadata` of a copy: it has no parts, so a checksum over those of parts does not describe it."""
    checksums = metadata.get("checksums")
    if not isinstance(checksums, dict) or checksum_type(_valid(checksums)) != "COMPOSITE":
        return dict(metadata)
    return {name: value for name, value in metadata.items() if name != "checksums"}


def checksum_headers(checksums: Mapping[str, str]) -> Headers:
    """Return the headers of an answer that names checksums of a whole object."""
    return [*checksums.items(), ("x-amz-checksum-type", checksum_type(checksums))] if checksums else []


def requested_checksums(request: S3Request, row: ObjectRow) -> Headers:
    """Return the checksum headers of a download of the whole object, if the client asks for them."""
    mode = (request.header("x-amz-checksum-mode") or "").strip().upper()
    if mode != "ENABLED" or request.header("range") is not None or request.has("partNumber"):
        return []
    checksums = (row.metadata or {}).get("checksums")
    return checksum_headers(_valid(checksums)) if isinstance(checksums, dict) else []


def _valid(values: Mapping[str, object]) -> dict[str, str]:
    return {
        name: value
        for name, value in values.items()
        if _NAME.fullmatch(name) and isinstance(value, str) and _VALUE.fullmatch(value)
    }
