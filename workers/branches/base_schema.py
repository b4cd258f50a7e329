"""The schema of a database and the versions of its migrations, as data that outlives the database: the base of a comparison of three."""

from pathlib import Path

import msgspec
from msgspec import Struct

from workers.branches.errors import BranchRejected
from workers.project import history
from workers.project.diff.model import SchemaObject, Snapshot
from workers.project.diff.snapshot import project_schemas, read_snapshot
from workers.project.project_connection import open_project_connection


class StoredSchema(Struct, frozen=True):
    """All objects of a project's schemas in the order of their creation, and the applied migrations."""

    schemas: list[str]
    versions: list[str]
    objects: list[SchemaObject]

    @property
    def snapshot(self) -> Snapshot:
        """The objects by kind and name."""
        return {(item.kind, item.name): item for item in self.objects}


async def read_schema(url: str, more: list[str] | None = None) -> StoredSchema:
    """Read the schema of a database; `more` are schemas beside its own. Raises: ProjectRejected, the driver's errors."""
    async with open_project_connection(url) as project:
        schemas = sorted({*await project_schemas(project.connection), *(more or [])})
        snapshot = await read_snapshot(project.connection, schemas)
        versions = await history.applied_versions(project.connection)
    return StoredSchema(schemas, versions, list(snapshot.values()))


def read_base(path: str) -> StoredSchema:
    """Read the schema of the moment in which a branch was made. Raises: BranchRejected."""
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=StoredSchema)
    except (OSError, msgspec.MsgspecError) as error:
        raise BranchRejected(
            f"The schema that the branch began with cannot be read, so nothing can be compared: {error}"
        ) from None
