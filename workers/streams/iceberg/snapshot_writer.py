"""Writes all rows of a table into files while they are read, and makes them the table in one commit, with its place. All methods block."""

from collections.abc import Sequence

from pyiceberg.manifest import DataFile

from schemas.changes import Values
from workers.streams.iceberg.table_writer import ORDER, PLACE, IcebergTable, is_same, schema_of, store_errors
from workers.streams.model import READ, TRUNCATE, CopyPlace, StreamChange


class SnapshotWriter:
    """Writes all rows of a table into files while they are read; `finish` makes them the table, with its place."""

    def __init__(self, copy: IcebergTable) -> None:
        self._copy = copy
        self._files: list[DataFile] = []
        self._rows = 0
        with store_errors():
            table = copy.folder.open() or copy.folder.make(schema_of(copy.schema()))
            copy.table = table
            self._order = int(table.properties.get(ORDER, "0"))
            self._commit = table.transaction()
            self._fit()

    def add(self, rows: Sequence[Values], lsn: int) -> None:
        """Write some rows. Raises: TargetAway."""
        if not rows:
            return
        copy = self._copy
        if copy.is_merged:
            table = copy.rows(rows)
        else:
            table = copy.change_rows(
                [StreamChange(READ, row, None, lsn, 0, 0, 0) for row in rows], self._order + self._rows + 1
            )
        with store_errors():
            self._files += copy.files(self._commit, table)
        self._rows += len(rows)

    def finish(self, place: CopyPlace, committed_at_us: int) -> int:
        """Commit; return the number of rows. Raises: TargetAway."""
        copy = self._copy
        with store_errors():
            if copy.is_merged:
                self._replace_all()
            else:
                nothing: Values = [None] * len(copy.source.columns)
                begin = StreamChange(TRUNCATE, nothing, None, place.snapshot_lsn, 0, 0, committed_at_us)
                first = list(copy.files(self._commit, copy.change_rows([begin], self._order)))
                with self._commit.update_snapshot().fast_append() as update:
                    for file in (*first, *self._files):
                        update.append_data_file(file)
                self._commit.set_properties({ORDER: str(self._order + self._rows + 1)})
            self._commit.set_properties({PLACE: place.as_text()})
            self._commit.commit_transaction()
        return self._rows

    def _replace_all(self) -> None:
        """Have the files written here take the place of all others."""
        table = self._copy.table
        assert table is not None  # opened at the start
        with self._commit.update_snapshot().overwrite() as update:
            for task in table.scan().plan_files():
                update.delete_data_file(task.file)
            for file in self._files:
                update.append_data_file(file)

    def _fit(self) -> None:
        """Give the table the columns of the source. One whose type became another one is made again, without its former values."""
        present, expected = self._commit.table_metadata.schema().as_arrow(), self._copy.schema()
        other = [
            field.name
            for field in expected
            if field.name in present.names and not is_same(present.field(field.name).type, field.type)
        ]
        if other:
            with self._commit.update_schema(allow_incompatible_changes=True) as update:
                for name in other:
                    update.delete_column(name)
        with self._commit.update_schema() as update:
            update.union_by_name(schema_of(expected))
