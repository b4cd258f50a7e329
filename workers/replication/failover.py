"""What a failover needs: the slot is kept on standbys too, and the histories of two servers are told apart.

A standby that is promoted goes on in a new timeline, from where it had the log of the one before. What was told before
that place happened on both; what was told behind it happened on the lost server only, and its positions will be used
again for something else.
Source: PostgreSQL, "Logical Replication Failover", "Streaming Replication Protocol" (TIMELINE_HISTORY, ALTER_REPLICATION_SLOT).
"""

from workers.replication.session import StreamLost, connect, identifier, parse_lsn, tell, value

SINCE = 170000
"""Servers keep slots on their standbys from this version on."""
_NO_FILE = "58P01"


def is_common(told: int, by: int, ends: dict[int, int]) -> bool:
    """Tell whether a server the ancestors of whose timeline ended at `ends` knows all that was told in timeline `by`.

    `told` is the position of the last commit told.
    """
    return told < ends.get(by, 0)


def parse_history(text: str) -> dict[int, int]:
    """Read a timeline's history file: where each of its ancestors ended."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return {int(timeline): parse_lsn(end) for timeline, end, *_ in lines}


async def ends_before(url: str, timeline: int) -> dict[int, int]:
    """Give where each ancestor of a timeline ended; nothing if the server does not know any more.

    `url` is that of a role that may replicate. Raises: StreamLost.
    """
    connection = await connect(url)
    try:
        return parse_history(await value(connection, f"TIMELINE_HISTORY {timeline}", 1))
    except StreamLost as lost:
        if lost.sqlstate != _NO_FILE:
            raise
        return {}
    finally:
        connection.finish()


async def keep_on_standbys(url: str, slot: str) -> None:
    """Have a slot that nobody reads kept on standbys, as those that we make are. Raises: StreamLost."""
    connection = await connect(url)
    try:
        await tell(connection, f"ALTER_REPLICATION_SLOT {identifier(slot)} (FAILOVER true)")
    finally:
        connection.finish()
