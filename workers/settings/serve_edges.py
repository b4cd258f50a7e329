"""Sends the edges the stored settings that concern them: edges cannot reach the database.

An edge requests them at its start, after a reconnection and every minute; the event SETTINGS_CHANGED makes it do so at once.
"""

from collections.abc import Awaitable, Callable

from msgspec.json import encode as encode_json

from broker import subjects
from broker.codec import encode
from broker.nats.connection import NatsConnection
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from schemas.edge_settings import EdgeSettings
from schemas.events import SettingsChanged
from schemas.http import Request, Response
from schemas.settings.live import EDGE_KEYS
from schemas.settings.tree import Settings
from workers.settings.live_settings import LiveSettings

_CONCURRENCY = 4


async def serve_edge_settings(
    connection: NatsConnection, live: LiveSettings
) -> Callable[[], Awaitable[None]]:
    """Answer edges, and notify them of changes; return what stops it."""

    async def answer(request: Request, body: RequestBody) -> Response:
        del request, body
        return Response(200, body=encode_json(edge_settings(live)))

    async def notify(settings: Settings) -> None:
        del settings
        connection.try_publish(subjects.SETTINGS_CHANGED.name, encode(SettingsChanged(live.stored.version)))

    live.on_change(notify)
    serving = await serve(connection, subjects.EDGE_SETTINGS, answer, concurrency=_CONCURRENCY, queue=64)
    await notify(live.settings)  # an edge that started before every worker waits for this one
    return serving.stop


def edge_settings(live: LiveSettings) -> EdgeSettings:
    """Return the stored values for edges, without those that are ignored."""
    values = live.stored.values
    used = EDGE_KEYS & values.keys() - live.effective.ignored.keys()
    return EdgeSettings(live.stored.version, {key: values[key] for key in sorted(used)})
