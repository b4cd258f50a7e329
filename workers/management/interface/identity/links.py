"""One-time links by which an administrator signs in without a password: at the first start, after a reset."""

from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.secrets import digest, new_secret
from workers.management.interface.identity.store import execute


async def new_link(pool: OwnPool, administrator_id: str, lasts_s: float) -> str:
    """Store a link of an administrator and return its secret. Raises: DatabaseError, Disconnected, PoolTimeout."""
    secret = new_secret()
    await execute(pool, "add_link", digest(secret), administrator_id, lasts_s)
    return secret
