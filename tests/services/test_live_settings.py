"""Settings that an edge cannot apply: it reports that and tries again."""

import asyncio
from types import SimpleNamespace

import msgspec
import pytest

from broker.nats.connection import NatsConnection
from schemas.edge_settings import EdgeSettings
from schemas.http import Response
from schemas.settings.overlay import SettingsBase
from schemas.settings.tree import Settings
from services import live_settings
from services.live_settings import EdgeSettingsFollower
from services.observations import EdgeSettingsApplied, EdgeSettingsFailed
from tests.broker.server import running_server


class Answering:
    """A worker that sends one stored value."""

    async def call(self, *_: object) -> object:
        values: dict[str, object] = {"api.max_rows": 5}
        return SimpleNamespace(response=Response(200, body=msgspec.json.encode(EdgeSettings(1, values))))


async def test_settings_that_cannot_be_applied_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    observed: list[object] = []
    applied = asyncio.Event()

    def apply(_: Settings) -> None:
        if not observed:
            raise AssertionError("a defect")
        applied.set()

    monkeypatch.setattr(live_settings, "observe", observed.append)
    monkeypatch.setattr(live_settings, "_FIRST_PERIOD_S", 0.0)
    monkeypatch.setattr(live_settings, "_PERIOD_S", 0.0)
    async with running_server() as server:
        connection = await NatsConnection.open(server.url, name="test")
        follower = EdgeSettingsFollower(SettingsBase(Settings(), {}), Answering(), apply)  # type: ignore[arg-type]  # as much of the calls as it uses
        await follower.start(connection)
        try:
            async with asyncio.timeout(30):
                await applied.wait()
        finally:
            await follower.close()
            await connection.close()

    assert [type(item) for item in observed] == [EdgeSettingsFailed, EdgeSettingsApplied]
