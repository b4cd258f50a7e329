"""Keeps the files of a table few: small ones are merged, old versions forgotten, and files that no version has are removed."""

import uuid
from datetime import UTC, datetime, timedelta

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask, Table

from workers.streams.iceberg.folder_catalog import HINT, version_of
from workers.streams.iceberg.table_writer import IcebergTable, store_errors

_LEAST_FILES = 12
"""Small files from which on they are merged."""
_KEPT_VERSIONS = 20
_UNUSED_FOR = timedelta(hours=1)
"""How long a file that no version has any more stays, for readers that have begun."""


def tidy(copy: IcebergTable, file_size: int, now: datetime | None = None) -> int:
    """Merge small files and remove unused ones; return how many files were merged. It blocks. Raises: TargetAway."""
    table = copy.table
    if table is None:
        return 0
    with store_errors():
        merged = _merge_small(copy, table, file_size)
        if len(table.metadata.snapshots) > _KEPT_VERSIONS:
            _forget_versions(table)
        _remove_unused(copy, table, now or datetime.now(UTC))
    return merged


def _merge_small(copy: IcebergTable, table: Table, file_size: int) -> int:
    small = [task for task in table.scan().plan_files() if task.file.file_size_in_bytes < file_size // 2]
    if len(small) < _LEAST_FILES:
        return 0
    chosen: list[FileScanTask] = []
    size = 0
    for task in sorted(small, key=lambda one: one.file.file_size_in_bytes):
        if chosen and size + task.file.file_size_in_bytes > file_size:
            break
        chosen.append(task)
        size += task.file.file_size_in_bytes
    with table.transaction() as commit:
        rows = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_table(chosen)
        files = list(copy.files(commit, rows))
        with commit.update_snapshot().overwrite(uuid.uuid4()) as update:
            for task in chosen:
                update.delete_data_file(task.file)
            for file in files:
                update.append_data_file(file)
    return len(chosen)


def _forget_versions(table: Table) -> None:
    by_age = sorted(table.metadata.snapshots, key=lambda one: (one.timestamp_ms, one.sequence_number or 0))
    table.maintenance.expire_snapshots().by_ids(
        [one.snapshot_id for one in by_age[:-_KEPT_VERSIONS]]
    ).commit()


def _remove_unused(copy: IcebergTable, table: Table, now: datetime) -> None:
    used = {HINT}
    version = version_of(table.metadata_location)
    for snapshot in table.metadata.snapshots:
        used.add(_relative(copy, snapshot.manifest_list))
        for manifest in snapshot.manifests(table.io):
            used.add(_relative(copy, manifest.manifest_path))
            used |= {
                _relative(copy, entry.data_file.file_path)
                for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
            }
    unused = []
    for path, written_at in copy.folder.files():
        if path.endswith(".metadata.json"):
            is_used = version_of(f"/{path}") > version - _KEPT_VERSIONS
        else:
            is_used = path in used
        if not is_used and now - written_at > _UNUSED_FOR:
            unused.append(path)
    if unused:
        copy.folder.remove(unused)


def _relative(copy: IcebergTable, location: str) -> str:
    return location.removeprefix(f"{copy.folder.root}/")
