"""Conditions of a request: `If-Match`, `If-None-Match`, `If-Unmodified-Since` against the object that exists. Pure.

The condition of a write is compared with the row under the lock of its name (`uploads/rows.py: write_row`), in the transaction that
writes: two writers with the same `If-Match` cannot both succeed. A false condition is HTTP 412, and nothing is written.
Order of the comparisons: RFC 9110, 13.2.2. `If-Modified-Since` is for reads only and is ignored.
Source: RFC 9110, 13.1 and 13.2; docs/reference/storage.md, section 6.11.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from schemas.http import Headers, header, header_values
from schemas.http_dates import parse_http_date
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
        is_met = self.match is None if row is None else self._is_met(row.etag, row.modified)
        if not is_met:
            raise precondition_failed()

    def _is_met(self, etag: str, modified: datetime) -> bool:
        if not self.is_same(etag, modified):
            return False
        return self.none_match is None or not _is_listed(etag, self.none_match)

    def is_same(self, etag: str, modified: datetime) -> bool:
        """Return whether the object is the one that `If-Match`, or else `If-Unmodified-Since`, names."""
        if self.match is not None:
            # Strong comparison (RFC 9110, 8.8.3.2): a weak tag matches nothing.
            return _ANY in self.match or etag in self.match
        return self.unmodified_since is None or int(modified.timestamp()) <= self.unmodified_since


def read_write_condition(headers: Headers) -> WriteCondition | None:
    """Read the conditions of a request; None without any. An invalid date is ignored (RFC 9110, 13.1.4)."""
    condition = WriteCondition(
        _tags(header_values(headers, "if-match")),
        _tags(header_values(headers, "if-none-match")),
        parse_http_date(header(headers, "if-unmodified-since")),
    )
    return None if condition == WriteCondition() else condition


def requires_absence(condition: WriteCondition | None) -> bool:
    """Return whether a write may only create: `If-None-Match: *` needs no policy but that of an insert."""
    return condition is not None and condition.requires_absence


def check_read_conditions(headers: Headers, etag: str, modified: datetime) -> None:
    """Check `If-Match` and `If-Unmodified-Since` of a read. The other two conditions are 304, and checked after these.

    Raises: StorageError (412).
    """
    condition = read_write_condition(headers)
    if condition is not None and not condition.is_same(etag, modified):
        raise precondition_failed()


def check_untagged_resource(headers: Headers) -> None:
    """Check the conditions of a write to something that has neither a tag nor a date: a bucket, a list of names, a folder.

    `If-Match: *` is true, because it exists; no listed tag is its own, and `If-None-Match: *` is false. Raises: StorageError (412).
    """
    condition = read_write_condition(headers)
    if condition is None:
        return
    is_other = condition.match is not None and _ANY not in condition.match
    if is_other or condition.requires_absence:
        raise precondition_failed()


def is_unchanged(headers: Headers, etag: str, modified: datetime) -> bool:
    """Return whether the client of a read has the object: by `If-None-Match`, or else by `If-Modified-Since`."""
    tags = _tags(header_values(headers, "if-none-match"))
    if tags is not None:
        return _is_listed(etag, tags)
    since = parse_http_date(header(headers, "if-modified-since"))
    return since is not None and int(modified.timestamp()) <= since


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


def _is_listed(etag: str, tags: Sequence[str]) -> bool:
    """Return whether a tag is in a list, by weak comparison; `*` lists every tag."""
    return _ANY in tags or _weak(etag) in map(_weak, tags)


def _weak(tag: str) -> str:
    return tag.removeprefix("W/")
