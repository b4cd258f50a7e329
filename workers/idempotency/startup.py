"""Creates the keyed writes of a pool, and deletes expired records as long as its process runs."""

import asyncio

from workers.idempotency.record import RecordSealer
from workers.idempotency.writes import KeyedWrites, WithoutBody
from workers.resources import Resources


def keyed_writes(resources: Resources, without_body: WithoutBody) -> KeyedWrites | None:
    """Return the keyed writes of a pool; None if they are disabled."""
    settings = resources.settings
    if not settings.api.idempotency.enabled:
        return None
    sealer = RecordSealer(settings.auth.jwt_secret.reveal(), resources.url)
    writes = KeyedWrites(resources.database, sealer, settings.api.idempotency, without_body)
    sweeping = asyncio.get_running_loop().create_task(writes.sweep(), name="sweep of idempotency keys")

    async def stop() -> None:
        sweeping.cancel()
        await asyncio.wait([sweeping])

    resources.process.on_drain(stop)
    return writes
