"""Runs a COPY TO STDOUT in an open transaction; its rows are read while they arrive."""

import asyncio
from collections.abc import AsyncGenerator

from workers.database.protocol.backend_reader import IN_TRANSACTION
from workers.database.protocol.exchange import transaction_changed
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.transactions.model import Statement
from workers.database.transactions.open_transaction import append_messages


async def copied_rows(connection: PostgresConnection, statement: Statement) -> AsyncGenerator[bytes]:
    """Yield the rows of a COPY, whole ones, joined as they have arrived.

    A reader that leaves early leaves the statement running: the connection's owner cancels it. Raises: DatabaseError, Disconnected.
    """
    out: list[bytes] = []
    append_messages(connection, statement, out)
    copied, reply = connection.copy_out(out)
    running = asyncio.ensure_future(reply)
    try:
        async for rows in copied:
            yield rows
        ended = await running
    finally:
        if not running.done():
            copied.abandon()
            running.cancel()
            await asyncio.wait([running])
    if ended.error is not None:
        raise ended.error
    if connection.status != IN_TRANSACTION:
        raise transaction_changed()
