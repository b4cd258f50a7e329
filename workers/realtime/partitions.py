"""The partitions of realtime.messages, made ahead and dropped when their rows are too old: by one worker of many."""

import asyncio
import random

from broker.observability.observe import observe
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.pool import Pool
from workers.database.session import Statement, Work
from workers.realtime.observations import PartitionsFailed, telling

_SETTINGS = (("search_path", ""), ("statement_timeout", "60s"), ("lock_timeout", "5s"))
_KEEP = Statement(
    "select realtime.keep_partitions() from (select pg_catalog.pg_try_advisory_xact_lock(1751474797, 2) as is_ours offset 0)"
    " as turn where turn.is_ours"
)
"""Whoever does not get the lock leaves the work to the one who has it."""
PAUSE_S = 3600.0
_RETRY_S = 30.0


async def keep_forever(database: Pool) -> None:
    """Keep the partitions now and every hour, until cancelled."""
    while True:
        is_done = await keep_once(database)
        await asyncio.sleep((PAUSE_S if is_done else _RETRY_S) * random.uniform(0.9, 1.1))


async def keep_once(database: Pool) -> bool:
    """Keep the partitions, unless another worker is at it; tell whether nothing went wrong."""
    try:
        await database.run(Work(_SETTINGS, [_KEEP]))
    except DatabaseError as error:
        observe(PartitionsFailed(error.code, telling(error)))
        return False
    except (Disconnected, PoolTimeout) as error:
        observe(PartitionsFailed("", type(error).__name__))
        return False
    return True
