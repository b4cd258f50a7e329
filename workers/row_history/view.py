"""Versions as they are shown, and how much of them a caller of the interfaces sees. Pure.

A caller gets versions of rows that he may read now. That says nothing of a row that had the same key before it, so for him the past of a row
ends where it was inserted, came to its key, or where versions may be missing. Columns that he may not read are left out, and with them updates
of which nothing is left. Who wrote is named to the writer himself and to the service role alone.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec import Struct

from workers.row_history.stored import StoredGap, StoredVersion, Values


class VersionCause(Struct, frozen=True, omit_defaults=True):
    """Who wrote. `source`: request, dashboard, cron, migration, platform, sql, or unknown. `login`: of the session, where no request signed.

    `is_yours`: the caller himself wrote.
    """

    source: str
    by_trigger: bool = False
    is_yours: bool = False
    request_id: str | None = None
    role: str | None = None
    sub: str | None = None
    area: str | None = None
    request: str | None = None
    login: str | None = None


class RowVersion(Struct, frozen=True, omit_defaults=True):
    """A version of a row. `changed`: the columns that an update changed; `omitted`: columns whose value is not known."""

    version: str
    operation: str
    at: str
    cause: VersionCause
    key: msgspec.Raw | None = None
    former_key: msgspec.Raw | None = None
    changed: list[str] = []
    before: Values | None = None
    after: Values | None = None
    omitted: list[str] = []


def whole_version(stored: StoredVersion) -> RowVersion:
    """Return a version as administrators and the service role see it."""
    cause = VersionCause(
        stored.source,
        stored.by_trigger,
        request_id=stored.request_id,
        role=stored.role,
        sub=stored.sub,
        area=stored.area,
        request=stored.request,
        login=stored.login if stored.request_id is None else None,
    )
    return _version(stored, cause, stored.before, stored.after, stored.omitted or [])


def versions_for_caller(
    stored: Sequence[StoredVersion], columns: Collection[str], sub: str, gaps: Sequence[StoredGap]
) -> Iterator[RowVersion]:
    """Yield what a caller sees of versions of rows that he may read now. `stored`: the newest first, of any number of rows.

    `columns`: those that he may read; `sub`: his own, empty without one.
    """
    known_after = max((gap.after_lsn for gap in gaps), default=-1)
    ended: set[str | None] = set()
    for version in stored:
        if version.lsn <= known_after:
            return
        if version.key in ended or version.operation in ("delete", "truncate"):
            ended.add(version.key)
            continue
        has_moved = version.former_key is not None
        if version.operation == "insert" or has_moved:
            ended |= {version.key, version.former_key}
        before = None if has_moved else _readable(version.before, columns)
        if version.operation == "update" and version.before and not before and not has_moved:
            continue
        is_yours = bool(sub) and version.sub == sub
        cause = VersionCause(
            version.source,
            version.by_trigger,
            is_yours,
            request_id=version.request_id if is_yours else None,
            role=version.role,
            sub=version.sub if is_yours else None,
        )
        omitted = [name for name in version.omitted or () if name in columns]
        yield _version(
            msgspec.structs.replace(version, former_key=None),
            cause,
            before,
            _readable(version.after, columns),
            omitted,
        )


def _version(
    stored: StoredVersion,
    cause: VersionCause,
    before: Values | None,
    after: Values | None,
    omitted: list[str],
) -> RowVersion:
    return RowVersion(
        stored.position,
        stored.operation,
        stored.at,
        cause,
        None if stored.key is None else msgspec.Raw(stored.key.encode()),
        None if stored.former_key is None else msgspec.Raw(stored.former_key.encode()),
        sorted(before or ()) if stored.operation == "update" else [],
        before,
        after,
        omitted,
    )


def _readable(values: Values | None, columns: Collection[str]) -> Values | None:
    return None if values is None else {name: value for name, value in values.items() if name in columns}
