"""Messages of the stream of changes -> the changes that a stream carries. Pure.

A row that a filter lets pass no longer is a deleted row to the target; a condition on a value that is not in the log passes, and the change says so.
"""

from collections.abc import Iterator, Mapping

from schemas.changes import ChangeBatch, ChangeKind, RowChange, Values
from schemas.row_filters import passes
from workers.streams.model import (
    DELETE,
    INSERT,
    TRUNCATE,
    UPDATE,
    SnapshotNeeded,
    SourceTable,
    StreamChange,
)


def changes_of(batch: ChangeBatch, table: SourceTable) -> Iterator[StreamChange]:
    """Yield the changes of a batch of the table. Raises: SnapshotNeeded where it does not say what became of which rows."""
    places = {column.name: place for place, column in enumerate(batch.columns)}
    copied = [places.get(name) for name in table.names]
    if missing := [name for name in table.key if name not in places]:
        raise SnapshotNeeded(f"the column {missing[0]} of the primary key had another name")
    for index, change in enumerate(batch.changes):
        kind, values, old = _selected(batch, change, table)
        if kind is None:
            continue
        if kind == TRUNCATE and (batch.schema, batch.table) != (table.schema, table.name):
            raise SnapshotNeeded(f"the partition {batch.schema}.{batch.table} was emptied")
        yield StreamChange(
            kind,
            _picked(values, copied),
            _picked(old, copied) if old is not None and _has_other_key(table, places, values, old) else None,
            batch.lsn,
            batch.number,
            index,
            batch.committed_at,
            kind == UPDATE and _is_unsure(values, places, table),
        )


def passes_filters(table: SourceTable, row: Mapping[str, bytes | None]) -> bool:
    """Return whether a row passes; one of which a value is not known does."""
    return all(row.get(each.column) is None or passes((each,), row) is not False for each in table.filters)


def _selected(
    batch: ChangeBatch, change: RowChange, table: SourceTable
) -> tuple[str | None, Values | None, Values | None]:
    """Return the kind of change that the target sees, None for none, and the values after and before it."""
    match change.kind:
        case ChangeKind.TRUNCATE:
            return TRUNCATE, None, None
        case ChangeKind.INSERT:
            return (INSERT if _passes(batch, change.new, table) else None), change.new, None
        case ChangeKind.DELETE:
            return (DELETE if _passes(batch, change.old, table) else None), change.old, None
    if _passes(batch, change.new, table):
        return UPDATE, change.new, change.old
    has_old = change.old is not None and batch.identity == "f"
    if has_old and not _passes(batch, change.old, table):
        return None, None, None
    return DELETE, change.old if change.old is not None else change.new, None


def _passes(batch: ChangeBatch, values: Values | None, table: SourceTable) -> bool:
    if not table.filters or values is None:
        return True
    names = (column.name for column in batch.columns)
    return passes_filters(table, dict(zip(names, values, strict=True)))


def _is_unsure(values: Values | None, places: Mapping[str, int], table: SourceTable) -> bool:
    at = [places.get(condition.column) for condition in table.filters]
    return values is not None and any(place is None or values[place] is None for place in at)


def _has_other_key(table: SourceTable, places: Mapping[str, int], values: Values | None, old: Values) -> bool:
    at = [places[name] for name in table.key if name in places]
    return values is not None and any(old[place] is not None and old[place] != values[place] for place in at)


def _picked(values: Values | None, places: list[int | None]) -> Values:
    if values is None:
        return [None] * len(places)
    return [None if place is None else values[place] for place in places]
