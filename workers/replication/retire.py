"""Drops the slot if realtime is switched off: a slot without a reader would retain the log forever."""

import asyncio
import sys
from collections.abc import Mapping

import asyncpg

from schemas.settings.tree import Settings
from workers.database.sessions.superuser import connect_with_fixed_settings
from workers.replication.slot import drop_slot


def run(settings: Settings, environment: Mapping[str, str]) -> None:
    """Drop the slot of the settings if it exists; a failure is printed on stderr and does not stop the caller."""
    url = environment.get("HEADWATER_MIGRATE_URL") or (settings.db.url.reveal() if settings.db.url else "")
    if not url:
        return
    try:
        if asyncio.run(retire(url, settings.realtime.slot_name)):
            print(f"realtime is off: dropped the replication slot {settings.realtime.slot_name}")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError, ValueError) as error:
        print(f"headwater: the replication slot was not dropped ({type(error).__name__})", file=sys.stderr)


async def retire(url: str, slot: str) -> bool:
    """Drop an inactive slot; return whether there was one."""
    connection = await connect_with_fixed_settings(url)
    try:
        return await drop_slot(connection.fetch, slot)
    finally:
        await connection.close()
