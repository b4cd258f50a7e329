"""An Iceberg table whose folder says all of it, without a service: `metadata/vN.metadata.json`, and the newest number in `version-hint.text`.

A commit makes the file of the next number if there is none, which a folder and S3 do in one step: of two writers one fails. Readers take the
folder as the table: `iceberg_scan('folder')` in DuckDB. Source: Iceberg's specification, "File System Tables".
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.exceptions import BaseError as StoreError
from obstore.store import LocalStore, S3Store
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata

from schemas.settings.streams import StreamSettings

HINT = "metadata/version-hint.text"
STORE_ERRORS = (OSError, StoreError)
"""What a store raises that does not give or take files."""
_PROPERTIES = {
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    "write.metadata.previous-versions-max": "10",
    "commit.retry.num-retries": "0",
}


class TableFolder(NoopCatalog):
    """One table in the folder `root` below the target of a stream. All methods block. Raises: errors of obstore, pyarrow and pyiceberg."""

    def __init__(self, settings: StreamSettings, parts: tuple[str, ...]) -> None:
        super().__init__("headwater")
        target = settings.target.reveal().rstrip("/") if settings.target else ""
        self.root = "/".join((target, *parts))
        self._identifier = parts
        url = urlsplit(self.root)
        self._io_properties: dict[str, str] = {}
        if url.scheme == "file":
            self._store: LocalStore | S3Store = LocalStore(url.path, mkdir=True)
            return
        access, secret = settings.access_key_id, settings.secret_access_key
        assert access is not None and secret is not None  # noqa: PT018 - checked with the settings
        self._io_properties = {
            "s3.access-key-id": access.reveal(),
            "s3.secret-access-key": secret.reveal(),
            "s3.region": settings.region,
        }
        if settings.endpoint:
            self._io_properties["s3.endpoint"] = settings.endpoint
        self._store = S3Store(
            url.netloc,
            prefix=url.path.strip("/"),
            access_key_id=access.reveal(),
            secret_access_key=secret.reveal(),
            region=settings.region,
            endpoint=settings.endpoint or None,
            client_options={"allow_http": settings.endpoint.startswith("http://"), "timeout": "30s"},
            retry_config={"max_retries": 2},
        )

    def open(self) -> Table | None:
        """Return the table as it is now; None if there is none."""
        version = self._newest()
        if not version:
            return None
        location = self._location(version)
        io = PyArrowFileIO(self._io_properties)
        metadata = FromInputFile.table_metadata(io.new_input(location))
        return Table(self._identifier, metadata, location, io, self)

    def make(self, schema: Schema) -> Table:
        """Make the table, empty. Raises: CommitFailedException if another writer did."""
        metadata = new_table_metadata(
            assign_fresh_schema_ids(schema),
            UNPARTITIONED_PARTITION_SPEC,
            UNSORTED_SORT_ORDER,
            self.root,
            _PROPERTIES,
        )
        self._write(metadata, 1)
        table = self.open()
        assert table is not None  # written a line before
        return table

    def load_table(self, identifier: object) -> Table:
        """Return the table as it is now, as pyiceberg asks for it."""
        table = self.open()
        if table is None:
            raise CommitFailedException("the table was removed")
        return table

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Make the next version. Raises: CommitFailedException if another writer made it."""
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location)
        version = version_of(table.metadata_location) + 1
        self._write(metadata, version)
        return CommitTableResponse.model_validate(
            {"metadata": metadata, "metadata-location": self._location(version)}
        )

    def files(self) -> Iterator[tuple[str, datetime]]:
        """Yield the path of each file in the folder, and when it was written."""
        for page in obstore.list(self._store):
            for file in page:
                yield file["path"], file["last_modified"]

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files."""
        obstore.delete(self._store, list(paths))

    def _write(self, metadata: TableMetadata, version: int) -> None:
        content = metadata.model_dump_json(exclude_none=True).encode()
        try:
            obstore.put(
                self._store, f"metadata/v{version}.metadata.json", content, mode="create", use_multipart=False
            )
        except AlreadyExistsError:
            raise CommitFailedException("another writer has made this version of the table") from None
        obstore.put(self._store, HINT, str(version).encode())

    def _newest(self) -> int:
        """Return the newest version. The hint is behind if a writer died between its two files."""
        try:
            version = int(bytes(obstore.get(self._store, HINT).bytes()))
        except FileNotFoundError:
            version = 0
        while True:
            try:
                obstore.head(self._store, f"metadata/v{version + 1}.metadata.json")
            except FileNotFoundError:
                return version
            version += 1

    def _location(self, version: int) -> str:
        return f"{self.root}/metadata/v{version}.metadata.json"


def version_of(location: str) -> int:
    """Return the number of a file of metadata."""
    return int(location.rpartition("/v")[2].partition(".")[0])
