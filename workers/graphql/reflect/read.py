"""Read the system catalogs for GraphQL: all statements of `read.sql` in one round trip and one snapshot.

They run as the login role; every role may read the system catalogs. The result serves all roles until the catalog
changes; `build.build(snapshot, role, version)` builds the schema of a role from it.
"""

import asyncio
from collections.abc import Sequence

from workers.database.transactions.model import Statement, TransactionRunner, TransactionSpec
from workers.graphql.model import RoleSchema
from workers.graphql.reflect.build import build
from workers.graphql.reflect.rows import CatalogSnapshot, make_snapshot
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.graphql.reflect", "read.sql")
_SETTINGS = (("search_path", ""), ("jit", "off"), ("lock_timeout", "500ms"), ("statement_timeout", "60s"))
"""An empty search path, so that types are printed with their schema; no JIT for small queries; no long wait for a
migration's lock."""
_TAKES_NOTHING = frozenset({"roles"})


async def read(sessions: TransactionRunner, schemas: Sequence[str]) -> CatalogSnapshot:
    """Read the exposed schemas from the catalogs, for all roles.

    Raises: DatabaseError, PoolTimeout, Disconnected; msgspec.MsgspecError if the rows are inconsistent (a migration is
    running).
    """
    exposed = (_array(schemas),)
    work = TransactionSpec(
        settings=_SETTINGS,
        statements=[
            Statement(text, () if name in _TAKES_NOTHING else exposed) for name, text in _STATEMENTS.items()
        ],
        read_only=True,
        isolation="repeatable read",
    )
    answers = await sessions.run(work)
    documents = {name: rows[0][0] or b"" for name, rows in zip(_STATEMENTS, answers, strict=True)}
    return await asyncio.to_thread(make_snapshot, documents, schemas)


async def reflect(sessions: TransactionRunner, schemas: Sequence[str], role: str, version: int) -> RoleSchema:
    """Read the catalogs and build the schema of one role.

    Raises: as `read`; SchemaError if a comment directive is invalid.
    """
    snapshot = await read(sessions, schemas)
    return await asyncio.to_thread(build, snapshot, role, version)


def _array(names: Sequence[str]) -> bytes:
    """Return a list of texts as an array in Postgres' text format."""
    quoted = ('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names)
    return ("{" + ",".join(quoted) + "}").encode()
