"""The deliveries of one change: one for each set of subscription ids and visible columns, shared by all that receive it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, Position
from schemas.realtime import TableGrant
from services.realtime.changes import record
from services.realtime.changes.evaluate import JudgedBatch, sees_old_row
from services.realtime.changes.interface import Delivery
from services.realtime.changes.record import RecordShape
from services.realtime.changes.subscribers import PipelineSubscriber, SharedSubscription

_MOST_SHAPES = 4096
Select = tuple[str, ...] | None


@dataclass(slots=True)
class ShapeCache:
    """The record shapes by table, role and selected columns, each valid while columns and grant are the same."""

    _shapes: dict[tuple[str, str, str, Select, bool], tuple[list[ChangeColumn], TableGrant, RecordShape]] = (
        field(default_factory=dict)
    )

    def find(
        self, batch: ChangeBatch, role: str, grant: TableGrant, select: Select, *, is_bare: bool
    ) -> RecordShape:
        """Return the shape of a batch for a role; compute it if it is not cached."""
        key = (batch.schema, batch.table, role, select, is_bare)
        cached = self._shapes.get(key)
        if cached is not None and cached[1] is grant and cached[0] == batch.columns:
            return cached[2]
        shape = record.shape_of(batch.schema, batch.table, batch.columns, grant, select, is_bare=is_bare)
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        self._shapes[key] = (batch.columns, grant, shape)
        return shape


def deliveries_of(
    judged: JudgedBatch, number: int, shapes: ShapeCache, *, are_deletes_checked: bool
) -> list[tuple[Delivery, list[PipelineSubscriber]]]:
    """Return the deliveries of one change of a batch, each with its receivers. Hot path.

    A subscriber with one subscription receives the delivery of its shared subscription. For one with several, the ids of those
    that match and show the same columns are merged first, so that it receives the change once.
    """
    builder = _DeliveryBuilder(judged, number, shapes, are_deletes_checked)
    merged: dict[tuple[PipelineSubscriber, int, bool], list[int]] = {}
    for shared in judged.matched[number]:
        if shared.single:
            builder.add_all((shared.subscription.id,), shared, shared.single)
        if shared.several:
            shape, is_old_row_seen = builder.shape_for(shared)
            for subscriber in shared.several:
                ids = merged.setdefault((subscriber, id(shape), is_old_row_seen), [])
                ids.append(shared.subscription.id)
    for (subscriber, shape_id, is_old_row_seen), ids in merged.items():
        builder.add(tuple(sorted(set(ids))), shape_id, is_old_row_seen, subscriber)
    return builder.deliveries()


class _DeliveryBuilder:
    """Collects the receivers of one change by what they receive, and builds each text once."""

    def __init__(
        self, judged: JudgedBatch, number: int, shapes: ShapeCache, are_deletes_checked: bool
    ) -> None:
        batch = judged.batch
        self._judged, self._number, self._change = judged, number, batch.changes[number]
        self._position = Position(batch.lsn, batch.number, number)
        self._cache, self._are_deletes_checked = shapes, are_deletes_checked
        self._shapes: dict[int, RecordShape] = {}
        self._texts: dict[tuple[int, bool], bytes] = {}
        self._receivers: dict[tuple[tuple[int, ...], int, bool], list[PipelineSubscriber]] = {}
        self._old_row: dict[str, bytes | None] | None = None

    def shape_for(self, shared: SharedSubscription) -> tuple[RecordShape, bool]:
        """Return the shape that a subscription sees of the change, and whether it sees the complete old row."""
        judged, role = self._judged, shared.group.role
        is_bare = (self._number, shared) in judged.bare
        grant, select = judged.grants[role], shared.subscription.select
        shape = self._cache.find(judged.batch, role, grant, select, is_bare=is_bare)
        self._shapes[id(shape)] = shape
        if self._change.old is None or self._change.kind is ChangeKind.INSERT:
            return shape, False
        if self._old_row is None:
            names = [column.name for column in judged.batch.columns]
            self._old_row = dict(zip(names, self._change.old, strict=True))
        is_old_row_seen = sees_old_row(
            judged, shared, self._change, self._old_row, are_deletes_checked=self._are_deletes_checked
        )
        return shape, is_old_row_seen

    def add_all(
        self, ids: tuple[int, ...], shared: SharedSubscription, subscribers: Iterable[PipelineSubscriber]
    ) -> None:
        """Add subscribers of a shared subscription."""
        shape, is_old_row_seen = self.shape_for(shared)
        self._receivers.setdefault((ids, id(shape), is_old_row_seen), []).extend(subscribers)

    def add(
        self, ids: tuple[int, ...], shape_id: int, is_old_row_seen: bool, subscriber: PipelineSubscriber
    ) -> None:
        """Add one subscriber, with a shape that `shape_for` returned."""
        self._receivers.setdefault((ids, shape_id, is_old_row_seen), []).append(subscriber)

    def deliveries(self) -> list[tuple[Delivery, list[PipelineSubscriber]]]:
        """Return the deliveries with their receivers."""
        batch = self._judged.batch
        return [
            (
                Delivery(
                    ids, self._text(shape_id, is_old_row_seen), self._position, batch.schema, batch.table
                ),
                subscribers,
            )
            for (ids, shape_id, is_old_row_seen), subscribers in self._receivers.items()
        ]

    def _text(self, shape_id: int, is_old_row_seen: bool) -> bytes:
        text = self._texts.get((shape_id, is_old_row_seen))
        if text is None:
            shape = self._shapes[shape_id]
            text = self._texts[shape_id, is_old_row_seen] = record.data_of(
                shape,
                self._judged.batch,
                self._change,
                self._position,
                is_old_row_seen=is_old_row_seen,
            )
        return text
