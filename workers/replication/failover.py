"""Failover: keeps the slot on standbys, and compares the histories of two servers.

Theory. A standby that is promoted continues in a new timeline, from the position up to which it had the log of the former one.
What was published before that position happened on both servers. What was published after it happened on the lost server only,
and its positions will be used again for other changes.
Source: PostgreSQL, "Logical Replication Failover", "Streaming Replication Protocol" (TIMELINE_HISTORY, ALTER_REPLICATION_SLOT).
"""

from workers.database.sessions.replication import StreamLost, connect, execute, identifier, parse_lsn, value

SINCE = 170000
"""Servers keep slots on their standbys from this version on."""
_NO_FILE = "58P01"


def is_common(published: int, timeline: int, ends: dict[int, int]) -> bool:
    """Return whether a server has everything that was published in a timeline.

    `published` is the position of the last published commit, `ends` are the positions at which the ancestors of the
    server's timeline ended.
    """
    return published < ends.get(timeline, 0)


def parse_history(text: str) -> dict[int, int]:
    """Parse the history file of a timeline: where each of its ancestors ended."""
    lines = (line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return {int(timeline): parse_lsn(end) for timeline, end, *_ in lines}


async def ends_before(url: str, timeline: int) -> dict[int, int]:
    """Return where each ancestor of a timeline ended; empty if the server no longer has the history file.

    `url` must name a role that may replicate. Raises: StreamLost.
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
    """Enable failover for an inactive slot, as for those that we create. Raises: StreamLost."""
    connection = await connect(url)
    try:
        await execute(connection, f"ALTER_REPLICATION_SLOT {identifier(slot)} (FAILOVER true)")
    finally:
        connection.finish()
