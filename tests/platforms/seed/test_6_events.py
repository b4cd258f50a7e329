"""Section 6. Events: what the realtime edge's own tests hold is not asked again; a change is followed end to end."""

from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from tests.platforms.seed.callers import Person, SeedPlatform

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


async def test_changes_presence_and_broadcasts_reach_a_subscriber(
    seed_platform: SeedPlatform, ada: Person
) -> None:
    key, token = seed_platform.anon.headers["apikey"], ada.session["access_token"]
    url = f"{seed_platform.platform.url}/realtime/v1/websocket?vsn=1.0.0&apikey={key}"
    config = {
        "broadcast": {"self": True},
        "presence": {"key": "ada", "enabled": True},
        "postgres_changes": [{"event": "*", "schema": "public", "table": "notes"}],
    }
    heard: list[tuple[str, Any]] = []
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:

        async def until(event: str) -> Any:
            while True:
                for name, payload in heard:
                    if name == event:
                        heard.remove((name, payload))
                        return payload
                message = await socket.receive_json(timeout=60)
                heard.append((message["event"], message["payload"]))

        def frame(event: str, payload: object) -> dict[str, object]:
            return {"topic": "realtime:room", "event": event, "payload": payload, "ref": "1", "join_ref": "1"}

        await socket.send_json(frame("phx_join", {"config": config, "access_token": token}))
        while (await until("system"))["status"] != "ok":
            pass
        await socket.send_json(
            frame("broadcast", {"type": "broadcast", "event": "wave", "payload": {"n": 1}})
        )
        wave = await until("broadcast")
        await socket.send_json(
            frame("presence", {"type": "presence", "event": "track", "payload": {"at": "desk"}})
        )
        joined = await until("presence_diff")
        ada.caller.ask("POST", "/rest/v1/notes", {"body": "told"})
        seed_platform.platform.psql(f"insert into notes (owner, body) values ('{uuid4()}', 'not for ada')")
        ada.caller.ask("PATCH", "/rest/v1/notes?body=eq.told", {"body": "changed"})
        ada.caller.ask("DELETE", "/rest/v1/notes?body=eq.changed")
        changes = [(await until("postgres_changes"))["data"] for _ in range(3)]

    assert (wave["event"], wave["payload"]["n"]) == ("wave", 1)
    assert joined["joins"]["ada"]["metas"][0]["at"] == "desk"
    assert [each["type"] for each in changes] == ["INSERT", "UPDATE", "DELETE"]
    assert (changes[0]["schema"], changes[0]["table"], changes[0]["record"]["body"]) == (
        "public",
        "notes",
        "told",
    )
