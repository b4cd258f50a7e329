"""Read the system catalogs for GraphQL: all statements of `read.sql` in one round trip and one snapshot.

They run as the login role, which needs no rights of its own: system catalogs may be read by everyone. What comes out
serves every role until the catalog changes; `build.build(snapshot, role, version)` makes a role's schema of it.
"""

import asyncio
from collections.abc import Sequence

from workers.database.transactions.model import Statement, TransactionRunner, TransactionSpec
from workers.graphql.model import Schema
from workers.graphql.reflect.build import build
from workers.graphql.reflect.rows import Snapshot, make_snapshot
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.graphql.reflect", "read.sql")
_SETTINGS = (("search_path", ""), ("jit", "off"), ("lock_timeout", "500ms"), ("statement_timeout", "60s"))
"""Names that do not depend on a path, no compiler for small queries, and no waiting for a migration's lock."""
_TAKES_NOTHING = frozenset({"roles"})


async def read(sessions: TransactionRunner, schemas: Sequence[str]) -> Snapshot:
    """Read what is needed of the exposed schemas, for all roles.

    Raises: DatabaseError, PoolTimeout, Disconnected; msgspec.MsgspecError if the catalogs contradict themselves.
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


async def reflect(sessions: TransactionRunner, schemas: Sequence[str], role: str, version: int) -> Schema:
    """Read the catalogs and make the schema of one role.

    Raises: as `read`; SchemaError when a comment directive is wrong.
    """
    snapshot = await read(sessions, schemas)
    return await asyncio.to_thread(build, snapshot, role, version)


def _array(names: Sequence[str]) -> bytes:
    """Spell a list of texts as an array in Postgres' text format."""
    quoted = ('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names)
    return ("{" + ",".join(quoted) + "}").encode()
