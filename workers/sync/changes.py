"""Messages of the stream of changes -> what each shape has to apply. Pure.

The stream has values as JSON; of them only the keys are used. A key whose text cannot be told from its JSON makes the shape compare
all its keys. Transactions that arrive together are applied together, so that a shape that is behind does not fall further behind.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from schemas.changes import ChangeBatch, ChangeKind, RowChange, Values
from workers.sync.definition import ResolvedShape
from workers.sync.pending import KeyValues, PendingChange
from workers.sync.reading import text_of_json


@dataclass(slots=True)
class ShapeWork:
    """What one shape has to do. `is_over`: it has to end."""

    change: PendingChange = field(default_factory=lambda: PendingChange(0))
    is_over: bool = False
    is_needed: bool = False


def work_of(
    shape: ResolvedShape,
    batches: Iterable[ChangeBatch],
    may_concern: Callable[[KeyValues], bool] = lambda _: True,
) -> ShapeWork:
    """Return what some batches of changes mean for a shape. `may_concern`: whether it has, or may have, a row of a key."""
    work = ShapeWork()
    for batch in batches:
        name = (batch.schema, batch.table)
        if name in shape.own:
            _note(work.change, batch)
            _add_rows(shape, work, batch, may_concern)
            work.is_needed |= (
                bool(work.change.keys) or work.change.compares or work.change.reads_all or work.is_over
            )
        elif name in shape.others:
            work.is_needed = work.change.compares = True
            _note(work.change, batch)
    return work


def _note(change: PendingChange, batch: ChangeBatch) -> None:
    change.lsn = max(change.lsn, batch.lsn)
    if batch.xid:
        change.add_txid(batch.xid)


def _add_rows(
    shape: ResolvedShape, work: ShapeWork, batch: ChangeBatch, may_concern: Callable[[KeyValues], bool]
) -> None:
    names = [column.name for column in batch.columns]
    equal = [(names.index(name), text) for name, text in shape.equal.items() if name in names]
    places = places_of(shape, batch)
    if places is None:
        work.change.reads_all = True
        return
    for row in batch.changes:
        if row.kind is ChangeKind.TRUNCATE:
            work.is_over = True
            return
        if equal and not _can_enter(row, equal):
            keys = (key_of(shape, row.new, places), key_of(shape, row.old, places))
            if not any(key is not None and may_concern(key) for key in keys) and any(keys):
                continue
        _add_row(shape, work.change, row, places, batch.xid)


def _can_enter(row: RowChange, equal: Sequence[tuple[int, str]]) -> bool:
    """Return whether the new version of a row may have the values that the shape's filter requires."""
    if row.new is None:
        return False
    for place, text in equal:
        value = row.new[place]
        if value is not None and text_of_json(value, "") != text:
            return False
    return True


def places_of(shape: ResolvedShape, batch: ChangeBatch) -> list[int] | None:
    """Return where the key's columns are in the rows of a batch; None if one is not there."""
    names = [column.name for column in batch.columns]
    if any(name not in names for name in shape.table.key):
        return None
    return [names.index(name) for name in shape.table.key]


def _add_row(
    shape: ResolvedShape, change: PendingChange, row: RowChange, places: Sequence[int], xid: int
) -> None:
    new, old = key_of(shape, row.new, places), key_of(shape, row.old, places)
    if row.kind is not ChangeKind.DELETE and new is None:
        change.reads_all = True
        return
    if old is not None and old != new:
        change.add_key(old, xid)
        if new is not None:
            change.renamed[new] = old
    if new is not None:
        change.add_key(new, xid)
    if new is None and old is None:
        change.compares = True


def key_of(shape: ResolvedShape, values: Values | None, places: Sequence[int]) -> KeyValues | None:
    """Return the key of a row; None without a row, and where its text cannot be known from JSON."""
    if values is None:
        return None
    texts = []
    for column, place in zip(shape.sql.key, places, strict=True):
        value = values[place]
        text = None if value is None else text_of_json(value, column.base)
        if text is None:
            return None
        texts.append(text)
    return tuple(texts)
