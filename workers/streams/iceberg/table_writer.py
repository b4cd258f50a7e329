"""Writes a table in Iceberg's form. The place of the copy is in the properties of the table, in the commit that has the rows.

    merge     the table has the rows as they are now: files with rows that have changed are written again without these
    append    the table has a row for each change, with `_op`, `_order`, `_lsn`, `_committed_at`; a snapshot begins with a row `truncate`

All methods block. Errors of the store are raised as TargetAway.
"""

import contextlib
import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, GreaterThanOrEqual, LessThanOrEqual
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files, _pyarrow_to_schema_without_ids
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table, Transaction

from schemas.changes import Values
from schemas.settings.streams import StreamSettings
from workers.streams.iceberg.arrow_values import arrow_column, arrow_type
from workers.streams.iceberg.folder_catalog import STORE_ERRORS, TableFolder
from workers.streams.model import (
    CopyPlace,
    SnapshotNeeded,
    SourceColumn,
    SourceTable,
    StreamChange,
    TargetAway,
    TargetRejects,
    last_by_key,
)

PLACE = "headwater.place"
"""Property of the table: a CopyPlace as JSON."""
ORDER = "headwater.order"
"""Property of a table with changes: the highest `_order`."""
_ADDED = pa.schema([
    pa.field("_op", pa.string()),
    pa.field("_order", pa.int64()),
    pa.field("_lsn", pa.int64()),
    pa.field("_committed_at", pa.timestamp("us", tz="UTC")),
])  # fmt: skip
_PROMOTIONS = {("int32", "int64"), ("float", "double")}


class IcebergTable:
    """The copy of one table. `unfit` counts values that the types of Iceberg cannot hold."""

    def __init__(self, settings: StreamSettings, source: SourceTable) -> None:
        self.is_merged = settings.mode == "merge"
        with store_errors():
            self.folder = TableFolder(settings, (source.schema, source.name))
        self.source = source
        self.table: Table | None = None
        self.unfit = 0
        if self.is_merged and not source.key:
            raise TargetRejects('a merged table needs a primary key; mode = "append" needs none')
        if reserved := [name for name in source.names if name in _ADDED.names]:
            raise TargetRejects(f"the column {reserved[0]!r} has the name of one that the stream adds")

    def open(self) -> CopyPlace | None:
        """Return where the copy is, None without one. Raises: TargetAway."""
        with store_errors():
            self.table = self.folder.open()
        return CopyPlace.parse(self.table.properties.get(PLACE, "")) if self.table is not None else None

    def _open_table(self) -> Table:
        assert self.table is not None  # opened before: all methods but `open` work on it
        return self.table

    def fit(self, renamed: Sequence[tuple[str, str]]) -> None:
        """Follow columns that were renamed, added or widened. Raises: SnapshotNeeded for other types; TargetAway."""
        table = self._open_table()
        present = table.schema().as_arrow()
        expected = self.schema()
        former = {name: present.field(name).type for name in present.names}
        # Those that the table has renamed already are left out: its place says so only from the next change on.
        names = {old: new for old, new in renamed if old in former}
        for old, new in names.items():
            former[new] = former.pop(old)
        changed = [
            field
            for field in expected
            if field.name in former and not is_same(former[field.name], field.type)
        ]
        if impossible := [field.name for field in changed if not _is_wider(former[field.name], field.type)]:
            raise SnapshotNeeded(f"the type of column {impossible[0]} has changed")
        added = [field for field in expected if field.name not in former]
        if not names and not changed and not added:
            return
        with store_errors(), table.transaction() as change, change.update_schema() as update:
            for old, new in names.items():
                update.rename_column(old, new)
            update.union_by_name(schema_of(pa.schema([*changed, *added])))

    def write(self, changes: Sequence[StreamChange], place: CopyPlace) -> None:
        """Write changes, and the place behind them, in one commit. Raises: TargetAway."""
        table = self._open_table()
        with store_errors(), table.transaction() as commit:
            if self.is_merged:
                self._merge(commit, changes)
            else:
                order = int(table.properties.get(ORDER, "0"))
                rows = self.change_rows(changes, order)
                with commit.update_snapshot().fast_append() as update:
                    for file in self.files(commit, rows):
                        update.append_data_file(file)
                commit.set_properties({ORDER: str(order + len(changes))})
            commit.set_properties({PLACE: place.as_text()})

    def change_rows(self, changes: Sequence[StreamChange], order: int) -> pa.Table:
        """Return changes as rows of a table in mode append, numbered behind `order`."""
        numbers = range(order + 1, order + 1 + len(changes))
        added = [
            pa.array([change.kind for change in changes], pa.string()),
            pa.array(numbers, pa.int64()),
            pa.array([change.lsn for change in changes], pa.int64()),
            pa.array([change.committed_at_us or None for change in changes], pa.int64()).cast(
                _ADDED.field(3).type
            ),
        ]
        rows = self.rows([change.values for change in changes])
        return pa.table([*rows.columns, *added], schema=self.schema())

    def rows(self, rows: Sequence[Values]) -> pa.Table:
        """Return rows as a table of Arrow, without the columns that mode append adds. Raises: TargetRejects for a key that does not fit."""
        arrays = []
        for place, column in enumerate(self.source.columns):
            array, unfit = arrow_column(column, [row[place] for row in rows])
            if unfit and self.is_merged and column.name in self.source.key:
                # As null it would be the key of several rows, and a change of one would remove the others.
                raise TargetRejects(
                    f"the key column {column.name!r} has a value that the target cannot hold, such as infinity: "
                    'leave its row out by filters, or take mode = "append"'
                )
            self.unfit += unfit
            arrays.append(array)
        return pa.table(arrays, schema=_columns_schema(self.source.columns))

    def files(self, commit: Transaction, rows: pa.Table) -> Iterator[DataFile]:
        """Write rows into files that no version has yet. Columns that the source has no longer are null."""
        present = commit.table_metadata.schema().as_arrow()
        for name in present.names:
            if name not in rows.column_names:
                rows = rows.append_column(name, pa.nulls(len(rows), present.field(name).type))
        whole = rows.select(present.names).cast(pa.schema([field.remove_metadata() for field in present]))
        if len(whole):
            yield from _dataframe_to_data_files(
                commit.table_metadata, whole, self._open_table().io, uuid.uuid4()
            )

    def _merge(self, commit: Transaction, changes: Sequence[StreamChange]) -> None:
        is_emptied, last = last_by_key(changes, self.source.key_places)
        present = [change.values for change in last.values() if change is not None]
        table = self._open_table()
        added = list(self.files(commit, self.rows(present))) if present else []
        removed: list[DataFile] = []
        if is_emptied:
            removed = [task.file for task in table.scan().plan_files()]
        elif last:
            keys = self._keys(list(last))
            for task in table.scan(row_filter=_between(keys)).plan_files() if len(keys) else ():
                remaining = self._without(task, keys)
                if remaining is not None:
                    removed.append(task.file)
                    added += self.files(commit, remaining)
        if not added and not removed:
            return
        with commit.update_snapshot().overwrite() as update:
            for file in removed:
                update.delete_data_file(file)
            for file in added:
                update.append_data_file(file)

    def _keys(self, keys: Sequence[tuple[bytes, ...]]) -> pa.Table:
        """Return keys as a table, without those that no row of the target can have (`rows`)."""
        columns = [self.source.columns[place] for place in self.source.key_places]
        arrays = [
            arrow_column(column, [key[place] for key in keys])[0] for place, column in enumerate(columns)
        ]
        return pa.table(arrays, schema=_columns_schema(columns)).drop_null()

    def _without(self, task: FileScanTask, keys: pa.Table) -> pa.Table | None:
        """Return the rows of a file but those with some keys; None if it has none of them. The keys alone are read first."""
        table = self._open_table()
        names = tuple(keys.column_names)
        metadata, io, schema = table.metadata, table.io, table.schema()
        present = (
            ArrowScan(metadata, io, schema.select(*names), AlwaysTrue()).to_table([task]).cast(keys.schema)
        )
        if len(names) == 1:
            stays = pc.invert(pc.is_in(present[names[0]], value_set=keys[names[0]].combine_chunks()))
            if pc.all(stays).as_py() in (True, None):
                return None
        else:
            numbered = present.append_column("_row", pa.array(range(len(present)), pa.int64()))
            left = numbered.join(keys, list(names), join_type="left anti")["_row"]
            if len(left) == len(present):
                return None
            stays = pc.is_in(numbered["_row"], value_set=left.combine_chunks())
        return ArrowScan(metadata, io, schema, AlwaysTrue()).to_table([task]).filter(stays)

    def schema(self) -> pa.Schema:
        """Return the columns of the table, those that mode append adds included."""
        columns = _columns_schema(self.source.columns)
        return columns if self.is_merged else pa.schema([*columns, *_ADDED])


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    """Raise what a store of files answers as TargetAway, without its text: it may have addresses and keys."""
    try:
        yield
    except CommitFailedException:
        raise TargetAway("another writer has changed the table") from None
    except (*STORE_ERRORS, pa.ArrowException) as error:
        raise TargetAway(f"the store does not take or give files: {type(error).__name__}") from None


def _columns_schema(columns: Sequence[SourceColumn]) -> pa.Schema:
    return pa.schema([pa.field(column.name, arrow_type(column)) for column in columns])


def schema_of(schema: pa.Schema) -> Schema:
    """Return a schema of Iceberg, without ids."""
    return _pyarrow_to_schema_without_ids(schema)


def is_same(one: pa.DataType, other: pa.DataType) -> bool:
    """Return whether types are the same; Iceberg gives back texts and bytes as Arrow's large ones."""
    return bool(_plain(one) == _plain(other))


def _plain(type: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(type):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(type) else type


def _is_wider(one: pa.DataType, other: pa.DataType) -> bool:
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        return bool(one.scale == other.scale and other.precision >= one.precision)
    return (str(one), str(other)) in _PROMOTIONS


def _between(keys: pa.Table) -> BooleanExpression:
    """Return the condition that a file may have some of these keys, by the least and the highest that Iceberg knows of each file."""
    expression: BooleanExpression = AlwaysTrue()
    for name in keys.column_names:
        if not pa.types.is_integer(keys.schema.field(name).type) and not pa.types.is_string(
            keys.schema.field(name).type
        ):
            continue
        bounds = pc.min_max(keys[name])
        least, most = bounds["min"].as_py(), bounds["max"].as_py()
        if least is not None:
            expression = And(
                expression,
                And(GreaterThanOrEqual(term=name, value=least), LessThanOrEqual(term=name, value=most)),
            )
    return expression
