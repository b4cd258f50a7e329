"""The ref of a project: the 20 lower-case letters by which the official command line names it.

A ref is made from the system identifier of the Postgres cluster and the name of the database, so it stays the same when keys are
rotated, settings change or the platform restarts, and another cluster has another one. `management.project_ref` replaces it.
"""

import hashlib
import re

from workers.database.transactions.interactive import statement
from workers.management.interface.errors import ManagementError
from workers.management.interface.operation import OperationContext
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.areas.project", "ref.sql")
_LETTERS = 20
_REF = re.compile(r"[a-z]{20}", re.ASCII)


def ref_of(system_identifier: str, database: str) -> str:
    """Return the ref of a database of a cluster: SHA-256 in base 26, its last 20 digits as letters (pure)."""
    number = int.from_bytes(hashlib.sha256(f"{system_identifier}/{database}".encode()).digest())
    letters = []
    for _ in range(_LETTERS):
        number, digit = divmod(number, 26)
        letters.append(chr(ord("a") + digit))
    return "".join(letters)


async def project_ref(context: OperationContext) -> str:
    """Return the ref of this platform's project. Raises: ManagementError; DatabaseError, Disconnected, PoolTimeout."""
    if configured := context.configuration.management.project_ref:
        if not _REF.fullmatch(configured):
            raise ManagementError(
                500, "invalid_ref", "management.project_ref must be 20 lower-case letters, a to z"
            )
        return configured
    [rows] = await context.database.read(
        statement(_SQL["identity"]), timeout_s=context.settings.statement_timeout_s
    )
    system_identifier, database = rows[0]
    return ref_of((system_identifier or b"").decode(), (database or b"").decode())
