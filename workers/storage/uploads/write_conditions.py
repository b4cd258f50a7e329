"""Conditions of a write: `If-Match`, `If-None-Match` and `If-Unmodified-Since` against the object that exists. Pure.

The condition is compared with the row under the lock of its name (`uploads/rows.py: write_row`), in the transaction that
writes: two writers with the same `If-Match` cannot both succeed. A false condition is HTTP 412, and nothing is written.
Order of the comparisons: RFC 9110, 13.2.2. `If-Modified-Since` is for reads only and is ignored.
Source: RFC 9110, 13.1 and 13.2; docs/reference/storage.md, section 6.11.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from schemas.http import Headers, header, header_values
from workers.storage.model.errors import StorageError, StorageErrorCode
from workers.storage.objects.rows import ObjectRow

_TAG = re.compile(r'(?:W/)?"[^"]*"|[^\s,"]+')
_ANY = "*"


@dataclass(frozen=True, slots=True)
class WriteCondition:
    """What must be true of the existing object. Tags have their quotes, `*` stands alone; None: not requested."""

    match: tuple[str, ...] | None = None
    none_match: tuple[str, ...] | None = None
    unmodified_since: int | None = None
    """Epoch seconds."""

    @property
    def requires_absence(self) -> bool:
        """Whether no object may exist: the write is then an insert, and an existing name is `precondition_failed`."""
        return self.none_match is not None and _ANY in self.none_match

    def check(self, row: ObjectRow | None) -> None:
        """Compare with the row of the object, None if there is none. Raises: StorageError (412)."""
        if not self._is_met(row):
            raise precondition_failed()

    def _is_met(self, row: ObjectRow | None) -> bool:
        if self.match is not None:
            # Strong comparison (RFC 9110, 8.8.3.2): a weak tag matches nothing.
            if row is None or not (_ANY in self.match or row.etag in self.match):
                return False
        elif (
            row is not None
            and self.unmodified_since is not None
            and int(row.modified.timestamp()) > self.unmodified_since
        ):
            return False
        if self.none_match is None or row is None:
            return True
        return _ANY not in self.none_match and _weak(row.etag) not in map(_weak, self.none_match)


def read_write_condition(headers: Headers) -> WriteCondition | None:
    """Read the conditions of a request; None without any. An invalid date is ignored (RFC 9110, 13.1.4)."""
    condition = WriteCondition(
        _tags(header_values(headers, "if-match")),
        _tags(header_values(headers, "if-none-match")),
        _seconds(header(headers, "if-unmodified-since")),
    )
    return None if condition == WriteCondition() else condition


def precondition_failed() -> StorageError:
    """A condition of the request is false. The HTTP status is 412, too: clients and caches read it there."""
    return StorageError(
        StorageErrorCode.PRECONDITION_FAILED,
        "At least one of the pre-conditions you specified did not hold",
        412,
        status=412,
    )


def _tags(lines: Sequence[str]) -> tuple[str, ...] | None:
    """Return the tags of all lines of a header. A tag without quotes gets them: S3 clients leave them out."""
    if not lines:
        return None
    listed = _TAG.findall(",".join(lines))
    return tuple(tag if '"' in tag or tag == _ANY else f'"{tag}"' for tag in listed)


def _weak(tag: str) -> str:
    return tag.removeprefix("W/")


def _seconds(text: str | None) -> int | None:
    try:
        return int(parsedate_to_datetime(text).timestamp()) if text else None
    except (ValueError, TypeError, OverflowError):
        return None
