"""The watch that gives up the connections of a pool whose server is silent."""

import asyncio
import contextlib
from dataclasses import dataclass
from urllib.parse import urlsplit

import asyncpg
import pytest

from broker.requests.current_request import CURRENT
from schemas.errors import OutcomeUnknown
from tests.faults.silent_way import silent_way
from tests.workers.database.connections import opened, session_database, until, value
from workers.database.connection_pool.silence_watch import SilenceWatch
from workers.database.errors import Disconnected, ServerSilent
from workers.database.transactions.model import Statement, TransactionSpec

_QUICK = {"every_s": 0.02, "unanswered_s": 0.05, "attempt_s": 0.3}
_LOCKED = Statement("select pg_advisory_xact_lock(7)")


@dataclass
class _Served:
    caller_key: str = "a"
    deadline: float = float("inf")
    sql_s: float = 0.0
    request_id: str = "r1"


async def _write_for_a_request(pool):
    CURRENT.set(_Served())
    return await pool.run(TransactionSpec((), [_LOCKED]))


async def test_a_silent_server_fails_reads_and_leaves_the_outcome_of_writes_open(server):
    async with session_database(server.url) as database:
        parts = urlsplit(database.login)
        async with silent_way("127.0.0.1", parts.port) as way:
            url = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{way.port}")).geturl()
            async with opened(url, 4) as pool:
                locker = await asyncpg.connect(database.admin)
                await locker.execute("select pg_advisory_lock(7)")
                reading = asyncio.ensure_future(pool.run(TransactionSpec((), [_LOCKED], read_only=True)))
                writing = asyncio.ensure_future(_write_for_a_request(pool))
                own = asyncio.ensure_future(pool.run(TransactionSpec((), [_LOCKED])))
                await until(lambda: pool.state.open == 3 and not pool.state.idle)
                watch = SilenceWatch(pool, url, **_QUICK)
                watching = asyncio.ensure_future(watch.run())
                await until(lambda: watch.attempts >= 2)  # statements that take long are no silence
                assert not reading.done()

                way.silence()

                with pytest.raises(ServerSilent):
                    await reading
                with pytest.raises(OutcomeUnknown):
                    await writing
                with pytest.raises(ServerSilent):
                    await own
                with pytest.raises(Disconnected):
                    await value(pool, "select 1")
                way.mend()
                await locker.close()
                await until(lambda: pool.state.open)
                assert await value(pool, "select 1") == b"1"
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching
