"""`python -P -m workers operate OPERATION`: one operation for the command line of the machine, without a session.

The arguments are JSON on standard input, or the word behind the operation, which other users of the machine can see; the result is JSON
on standard output. Whoever runs it has the password of the pool's login,
so the rights are those of an owner; changes are in the audit log, with the actor `command line`.
Exit codes: 0 done, 1 refused or failed.
"""

import asyncio
import getpass
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from broker.processes.lifecycle import environment_variables
from schemas.database_logins import login_passwords
from schemas.settings.overlay import SettingsBase
from schemas.settings.tree import Settings
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.database.sessions.urls import login_url
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.model import Actor
from workers.management.interface.operation import StreamedResult
from workers.management.interface.rights import Right
from workers.management.worker import ManagementWorker
from workers.project.project_folder import project_folder
from workers.settings.live_settings import LiveSettings

DONE, FAILED = 0, 1


def run(settings: Settings, environment: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run one operation and return the exit code."""
    operation, body, *_ = [*arguments, "", ""]
    try:
        sent = body.encode() if len(arguments) > 1 else sys.stdin.buffer.read()
        asyncio.run(_run(settings, operation, sent, project_folder(environment)))
    except ManagementError as error:
        print(str(error), file=sys.stderr)
        return FAILED
    except (DatabaseError, Disconnected, PoolTimeout) as error:
        print(f"The database refused: {error}", file=sys.stderr)
        return FAILED
    return DONE


async def _run(settings: Settings, operation: str, body: bytes, folder: Path | None) -> None:
    """Run one operation and write its result to standard output."""
    pools: list[ConnectionPool] = []
    passwords = login_passwords(settings)

    def url_of(login: str) -> str:
        url = settings.db.url.reveal() if settings.db.url else ""
        return login_url(url, login, passwords[login].reveal())

    async def open_pool(login: str) -> ConnectionPool:
        pools.append(await ConnectionPool.open(url_of(login), 1))
        return pools[-1]

    database = ManagementDatabase(open_pool, url_of)
    live = LiveSettings(SettingsBase(settings, environment_variables()), (await database.own()).pool)
    await live.check()
    worker = ManagementWorker.create(database, live.settings, PlatformPools(None), live, folder)
    actor = Actor(f"command line ({getpass.getuser()})", Right.OWNER, may_write=True, is_confirmed=True)
    try:
        await _write(await worker.operate(actor, operation, body, "", ""))
    finally:
        for pool in pools:
            await pool.close()


async def _write(result: object) -> None:
    """Write a result to standard output: JSON and a line end, or the pieces of a stream as they are."""
    if not isinstance(result, StreamedResult):
        print(msgspec.json.encode(result).decode())
        return
    async for chunk in result.chunks:
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
