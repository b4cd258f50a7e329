"""Versions of rows from batches of changes. Pure.

    ChangeBatch --> one JSON object a change, for the statement `store` (statements.sql)

Values are spelled as the stream has them, which is how `to_jsonb` spells them, and are passed on unparsed. `before` of an update has the
columns that changed alone: with `after` it gives the whole row as it was. `omitted` names columns whose value is not in the stream: those of
a row above 1 MiB, and unchanged long values where the replica identity was not full.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from schemas.causes import LoggedCause, SignedCause, read_cause
from schemas.changes import ChangeBatch, ChangeKind, RowChange, Values

Believe = Callable[[SignedCause], bool]
"""Returns whether a cause with the right signature is that of the batch's transaction."""
_OPERATIONS = {
    ChangeKind.INSERT: b"insert",
    ChangeKind.UPDATE: b"update",
    ChangeKind.DELETE: b"delete",
    ChangeKind.TRUNCATE: b"truncate",
}
_JOBS = ("headwater_job_", "headwater_http_")
_DASHBOARD = ("headwater_developer", "headwater_viewer", "headwater_login_", "cli_login_")
_PLATFORM = ("headwater_", "supabase_")
_MANAGEMENT = "management"
MIGRATION = "project migration"
"""Name of the sessions in which migrations of a project run."""
_text = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class TrackedTable:
    """A table with history. It has versions of what was committed behind `since_lsn`; if it is off, of what was committed before."""

    id: int
    name: str
    key: tuple[str, ...]
    since_lsn: int
    is_on: bool = True

    def has(self, lsn: int) -> bool:
        """Return whether changes that were committed at a position have versions."""
        return lsn > self.since_lsn if self.is_on else lsn <= self.since_lsn


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version as JSON. `bare` is the same without values, for one that Postgres cannot store."""

    table_id: int
    at_us: int
    row: bytes
    bare: bytes


def versions_of(
    batch: ChangeBatch, table: TrackedTable, keys: Sequence[bytes], believe: Believe
) -> Iterator[NewVersion]:
    """Yield the versions of a batch's changes. `keys` verify causes (schemas/causes.py)."""
    causes = {index: _cause_members(read_cause(keys, content), believe) for index, content in batch.causes}
    moment = datetime.fromtimestamp(batch.committed_at / 1_000_000, UTC)
    head = b'{"table_id":%d,"at":"%b","lsn":%d,"number":%d' % (
        table.id,
        moment.strftime("%Y-%m-%dT%H:%M:%S.%f+00:00").encode(),
        batch.lsn,
        batch.number,
    )
    names = [_text(column.name) for column in batch.columns]
    places = _key_places(batch, table)
    cause = _cause_members(None, believe)
    for index, change in enumerate(batch.changes):
        cause = causes.get(index, cause)
        key, former = _keys(change, places)
        members = b',"index":%d,"operation":"%b","key":%b%b%b' % (
            index,
            _OPERATIONS[change.kind],
            b"null" if key is None else _text(key),
            b"" if former is None else b',"former_key":%b' % _text(former),
            cause,
        )
        values, omitted = _values(batch, change, names)
        everything = b"[%b]" % b",".join(names)
        yield NewVersion(
            table.id,
            batch.committed_at,
            b"%b%b%b%b}"
            % (head, members, values, b',"omitted":[%b]' % b",".join(omitted) if omitted else b""),
            b'%b%b,"omitted":%b}' % (head, members, everything),
        )


def _key_places(batch: ChangeBatch, table: TrackedTable) -> list[int]:
    """Return the places of the key's columns, in the order of the key; of the key as it was then where columns were renamed since."""
    by_name = {column.name: place for place, column in enumerate(batch.columns)}
    if all(name in by_name for name in table.key):
        return [by_name[name] for name in table.key]
    return [place for place, column in enumerate(batch.columns) if column.is_key]


def _keys(change: RowChange, places: Sequence[int]) -> tuple[str | None, str | None]:
    """Return the key of a row, and the one that it had before if that is another one; None for a truncated table."""
    if change.kind is ChangeKind.TRUNCATE:
        return None, None
    new, old = _key(change.new, places), _key(change.old, places)
    if new is None or old is None or new == old:
        return new or old, None
    return new, old


def _key(values: Values | None, places: Sequence[int]) -> str | None:
    if values is None or not places or any(values[place] is None for place in places):
        return None
    return (b"[%b]" % b",".join([values[place] or b"null" for place in places])).decode()


def _values(batch: ChangeBatch, change: RowChange, names: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """Return the members `before` and `after`, and the columns without a value."""
    new, old = change.new, change.old
    has_old = old is not None and batch.identity == "f"
    members = b""
    if new is not None:
        members += b',"after":%b' % _object(names, new)
    if old is not None and new is None:
        members += b',"before":%b' % _object(names, old)
    elif old is not None and new is not None and has_old:
        changed: Values = [
            before if before != after else None for before, after in zip(old, new, strict=True)
        ]
        members += b',"before":%b' % _object(names, changed)
    row = new if new is not None else old
    return members, [name for name, value in zip(names, row or (), strict=False) if value is None]


def _object(names: Sequence[bytes], values: Values) -> bytes:
    pairs = [b"%b:%b" % (name, value) for name, value in zip(names, values, strict=True) if value is not None]
    return b"{%b}" % b",".join(pairs)


def _cause_members(cause: LoggedCause | None, believe: Believe) -> bytes:
    """Return the members that say who wrote. A signature that is not believed counts as none."""
    if cause is None:
        return b',"source":"unknown","by_trigger":false'
    members: dict[str, object] = {"login": cause.login, "by_trigger": cause.by_trigger}
    signed = cause.signed
    if signed is None or not believe(signed):
        members["source"] = _source_of(cause)
    else:
        members |= {
            "source": "dashboard" if signed.area == _MANAGEMENT else "request",
            "request_id": signed.request_id,
            "role": signed.role,
            "sub": signed.sub or None,
            "area": signed.area,
            "request": signed.request,
            "nonce": signed.nonce,
            "issued_ms": signed.issued_ms,
        }
    # Postgres has no text with U+0000, which a claim or a path may contain.
    clean = {
        name: value.replace("\0", "") if isinstance(value, str) else value for name, value in members.items()
    }
    return b",%b" % _text(clean)[1:-1]


def _source_of(cause: LoggedCause) -> str:
    """Return what the session says of itself. Role postgres can claim any of these."""
    if cause.application == MIGRATION:
        return "migration"
    if cause.login.startswith(_JOBS):
        return "cron"
    if cause.login.startswith(_DASHBOARD):
        return "dashboard"
    if cause.login.startswith(_PLATFORM):
        return "platform"
    return "unknown" if cause.login == "authenticator" else "sql"
