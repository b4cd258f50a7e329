"""Seals rows of a version that stored personal data of administrators as it was typed.

Addresses of administrators are sealed before the first statement of a process, as sign-ins look them up; sessions and audit rows
(`audit.seal_audit_rows`) in the background when the pool starts. Several processes may do so at once: a row is sealed once.
"""

from msgspec import Struct

from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.personal_data import Lookup, Personal
from workers.management.interface.identity.store import execute, fetch


class _Administrator(Struct):
    id: str
    email: str


class _Session(Struct):
    id: str
    address: str
    user_agent: str


async def seal_administrators(pool: OwnPool) -> None:
    """Seal the addresses of administrators. Raises: DatabaseError, Disconnected, PoolTimeout."""
    for row in await fetch(pool, "plain_administrators", _Administrator):
        await execute(pool, "seal_administrator", row.id, Personal(row.email), Lookup(row.email.lower()))


async def seal_sessions(pool: OwnPool) -> None:
    """Seal where sessions came from. Raises: as `seal_administrators`."""
    while rows := await fetch(pool, "plain_sessions", _Session):
        for row in rows:
            await execute(pool, "seal_session", row.id, Personal(row.address), Personal(row.user_agent))
