"""Operations on realtime: publication of tables with warnings, state of the slot, a broadcast that a subscriber receives."""

import asyncio
import json

import pytest
import websockets

from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator


@pytest.fixture(scope="module", autouse=True)
def tables(managed: Platform) -> None:
    """Tables of every kind that is warned of."""
    managed.psql(
        'create table if not exists "rt open" (id int primary key);'
        "create table if not exists rt_keyless (id int);"
        "create table if not exists rt_closed (id int primary key); alter table rt_closed enable row level security"
    )


def _row(developer: RemoteAdministrator, name: str) -> dict[str, object]:
    rows, after = [], None
    while True:
        page = developer.run("realtime.tables", limit=2, after=after)
        rows += page["rows"]
        after = page["next"]
        if after is None:
            break
    [row] = [row for row in rows if row["name"] == name]
    return row


def test_tables_are_published_with_warnings_and_stopped(developer: RemoteAdministrator) -> None:
    assert _row(developer, "rt open")["is_published"] is False
    preview = developer.run(
        "realtime.publish_table", schema="public", table="rt open", is_published=True, is_preview=True
    )
    still = _row(developer, "rt open")["is_published"]
    for table in ("rt open", "rt_keyless", "rt_closed"):
        developer.run("realtime.publish_table", schema="public", table=table, is_published=True)
    again = developer.run("realtime.publish_table", schema="public", table="rt open", is_published=True)

    assert preview == {
        "sql": 'alter publication supabase_realtime add table "public"."rt open";',
        "is_done": False,
    }
    assert (still, again["sql"]) == (False, "")
    assert "Row security is off" in str(_row(developer, "rt open")["warnings"])
    assert "no key" in str(_row(developer, "rt_keyless")["warnings"])
    assert "no policy for select" in str(_row(developer, "rt_closed")["warnings"])
    developer.run("realtime.set_replica_identity", schema="public", table="rt_keyless", is_full=True)
    assert "no key" not in str(_row(developer, "rt_keyless")["warnings"])
    for table in ("rt open", "rt_keyless", "rt_closed"):
        developer.run("realtime.publish_table", schema="public", table=table, is_published=False)
    assert _row(developer, "rt open")["is_published"] is False


def test_the_state_shows_publication_slot_and_edges(reader: RemoteAdministrator) -> None:
    state = reader.run("realtime.state")

    assert (state["is_enabled"], state["has_leader"]) == (True, True)
    assert state["publication"]["name"] == "supabase_realtime"
    assert state["slot"]["is_active"] is True
    assert state["slot"]["lag_bytes"] >= 0
    assert state["figures"]["edges"] == 1


async def test_a_broadcast_reaches_a_subscriber(developer: RemoteAdministrator, managed: Platform) -> None:
    address = (
        managed.url.replace("http", "ws")
        + f"/realtime/v1/websocket?apikey={managed.values['ANON_KEY']}&vsn=1.0.0"
    )
    async with websockets.connect(address) as socket, asyncio.timeout(30):
        join = {"topic": "realtime:news", "event": "phx_join", "ref": "1", "payload": {"config": {}}}
        await socket.send(json.dumps(join))
        while json.loads(await socket.recv())["event"] != "phx_reply":
            pass
        sent = await asyncio.to_thread(
            developer.run, "realtime.broadcast", topic="news", event="hello", payload={"text": "it's"}
        )
        while (message := json.loads(await socket.recv()))["event"] != "broadcast":
            pass
        state = await asyncio.to_thread(developer.run, "realtime.state")

    assert message["payload"]["event"] == "hello"
    assert message["payload"]["payload"]["text"] == "it's"
    assert sent["id"]
    assert (state["figures"]["sockets"], state["figures"]["channels"]) == (1, 1)


@pytest.mark.parametrize(
    "name", ["nothing", "a'b", 'x"; drop table rt_closed; --', "a\nb", "", "x" * 64, "a\x00b"]
)
def test_hostile_names_of_tables_name_nothing(developer: RemoteAdministrator, name: str) -> None:
    for operation in ("realtime.publish_table", "realtime.set_replica_identity"):
        extra = {"is_published": True} if operation.endswith("table") else {"is_full": True}
        assert developer.refused(operation, schema="public", table=name, **extra)[0] in (400, 404)
        assert developer.refused(operation, schema=name, table="rt_closed", **extra)[0] in (400, 404)


def test_a_reader_may_not_send(reader: RemoteAdministrator) -> None:
    assert reader.refused("realtime.broadcast", topic="x", event="y", payload={}) == (403, "no_right")
