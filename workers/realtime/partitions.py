"""Maintains the partitions of realtime.messages: creates them ahead and drops old ones. One worker of many does it."""

import asyncio
import random

from broker.observability.observe import observe
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.transactions.model import Statement, TransactionSpec
from workers.realtime.observations import PartitionsFailed, safe_message

_SETTINGS = (("search_path", ""), ("statement_timeout", "60s"), ("lock_timeout", "5s"))
_KEEP = Statement(
    "select realtime.keep_partitions() from (select pg_catalog.pg_try_advisory_xact_lock(1751474797, 2) as is_ours offset 0)"
    " as turn where turn.is_ours"
)
"""A worker that does not get the advisory lock leaves the work to the one that holds it."""
PAUSE_S = 3600.0
_RETRY_S = 30.0


async def maintain_partitions(database: ConnectionPool) -> None:
    """Maintain the partitions now and every hour, until cancelled; after an error again in 30 seconds."""
    while True:
        is_done = await maintain_once(database)
        await asyncio.sleep((PAUSE_S if is_done else _RETRY_S) * random.uniform(0.9, 1.1))


async def maintain_once(database: ConnectionPool) -> bool:
    """Maintain the partitions, unless another worker does it now; return whether there was no error."""
    try:
        await database.run(TransactionSpec(_SETTINGS, [_KEEP]))
    except DatabaseError as error:
        observe(PartitionsFailed(error.code, safe_message(error)))
        return False
    except (Disconnected, PoolTimeout) as error:
        observe(PartitionsFailed("", type(error).__name__))
        return False
    return True
