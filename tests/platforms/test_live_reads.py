"""Live reads through a whole platform: `GET /rest/v1/...` with `Accept: text/event-stream`."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
import pytest_asyncio

from tests.platform import Platform
from tests.platforms.conftest import token
from tests.services.subscriptions.test_read_frames import patched

ADA, BOB = str(uuid.uuid4()), str(uuid.uuid4())
SCHEMA = """
create table boat (id bigint primary key, harbour int, name text, weight numeric);
create table crew (harbour int, person uuid, primary key (harbour, person));
create table guest (harbour int, person uuid, primary key (harbour, person));
create table sail (id int primary key, boat_id bigint references boat on delete cascade);
create table mast (id int primary key);
create function sails_in(wanted int) returns boolean language sql stable security definer as
  $$ select exists (select from crew where harbour = wanted and person = auth.uid()) $$;
alter table boat enable row level security;
create policy crews on boat for select to authenticated using (sails_in(harbour));
create policy guests on boat for select to authenticated
  using (exists (select from guest g where g.harbour = boat.harbour and g.person = auth.uid()));
alter publication supabase_realtime add table boat, crew, sail;
grant select on boat, crew, guest, sail, mast to anon, authenticated, service_role;
"""
BOATS = "/rest/v1/boat?select=id,name,weight,sail(id)&order=id"
_PATIENCE_S = 60


@dataclass
class Reader:
    """A live read: its events, and the rows to which they lead."""

    answer: aiohttp.ClientResponse
    events: list[tuple[str, str]] = field(default_factory=list)
    last_id: str = ""
    rows: Any = None
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False

    async def listen(self) -> None:
        event: dict[str, str] = {}
        async for line in self.answer.content:
            text = line.decode().rstrip("\n")
            if text:
                name, _, value = text.partition(": ")
                event[name] = event[name] + "\n" + value if name in event else value
            elif event.get("event"):
                self._take(event)
                event = {}
                self.heard.set()
        self.is_over = True
        self.heard.set()

    def _take(self, event: dict[str, str]) -> None:
        self.events.append((event["event"], event["data"]))
        self.last_id = event.get("id", self.last_id)
        if event["event"] == "result":
            self.rows = json.loads(event["data"])
        elif event["event"] == "patch":
            self.rows = patched(self.rows, json.loads(event["data"]))

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                while not holds():
                    self.heard.clear()
                    await self.heard.wait()
        except TimeoutError:
            raise AssertionError(f"never so: {self.rows} {self.events[-5:]}") from None

    async def until_rows(self, *ids: int) -> None:
        await self.until(lambda: isinstance(self.rows, list) and [row["id"] for row in self.rows] == [*ids])


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def boats(running_platform: Platform) -> AsyncIterator[Platform]:
    running_platform.psql(SCHEMA)
    running_platform.wait_for_catalog("mast")
    yield running_platform
    running_platform.psql("drop table sail, boat, crew, guest, mast; drop function sails_in")


@pytest_asyncio.fixture
async def database(boats: Platform) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(boats.values["DB_URL"])
    await connection.execute("truncate boat, crew, guest cascade")
    await connection.execute(
        "insert into boat values (1, 1, 'Argo', 10.50), (2, 1, 'Beagle', 2), (3, 2, 'Fram', 3)"
    )
    yield connection
    await connection.close()


@asynccontextmanager
async def reading(
    platform: Platform, person: str | None, path: str = BOATS, **headers: str
) -> AsyncIterator[Reader]:
    own = {"apikey": platform.values["ANON_KEY"], "accept": "text/event-stream", **headers}
    if person is not None:
        own["authorization"] = f"Bearer {token(platform, sub=person)}"
    async with aiohttp.ClientSession() as session, session.get(platform.url + path, headers=own) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.content_type == "text/event-stream"
        reader = Reader(answer)
        task = asyncio.create_task(reader.listen())
        yield reader
        task.cancel()


async def test_rows_that_are_added_changed_and_removed_arrive_as_patches(
    boats: Platform, database: asyncpg.Connection
) -> None:
    async with reading(boats, None, apikey=boats.values["SERVICE_ROLE_KEY"]) as reader:
        await reader.until_rows(1, 2, 3)
        await database.execute("insert into boat values (0, 1, 'Calypso', 12345678901234567.890)")
        await reader.until_rows(0, 1, 2, 3)
        await database.execute("insert into sail values (7, 2)")  # another table that the read embeds
        await reader.until(lambda: reader.rows[2]["sail"] == [{"id": 7}])
        await database.execute("delete from boat where id = 1")
        await reader.until_rows(0, 2, 3)
        key = {"apikey": boats.values["SERVICE_ROLE_KEY"]}
        async with aiohttp.ClientSession() as session, session.get(boats.url + BOATS, headers=key) as answer:
            read = await answer.json()

    assert reader.rows == read
    assert [name for name, _ in reader.events][:2] == ["result", "patch"]
    assert "12345678901234567.890" in reader.events[1][1]


@pytest.mark.parametrize(
    "table", ["crew", "guest"]
)  # guest is not published: the read runs again all the same
async def test_a_right_that_another_table_gives_and_takes_moves_rows(
    boats: Platform, database: asyncpg.Connection, table: str
) -> None:
    async with reading(boats, ADA) as ada, reading(boats, BOB) as bob:
        await ada.until_rows()
        await bob.until_rows()
        await database.execute(f"insert into {table} values (1, $1), (2, $2)", ADA, BOB)
        await ada.until_rows(1, 2)
        await bob.until_rows(3)
        await database.execute(f"delete from {table} where person = $1", ADA)
        await ada.until_rows()
        await database.execute("update boat set name = 'Fram II' where id = 3")
        await bob.until(lambda: bob.rows[0]["name"] == "Fram II")

    assert not any("Fram" in data for _, data in ada.events)


async def test_a_policy_that_is_changed_takes_rows_away(
    boats: Platform, database: asyncpg.Connection
) -> None:
    await database.execute("insert into crew values (1, $1)", ADA)
    async with reading(boats, ADA) as reader:
        await reader.until_rows(1, 2)
        await database.execute("alter policy crews on boat using (sails_in(harbour) and id > 1)")
        await reader.until_rows(2)
        await database.execute("revoke select on boat from authenticated")
        await reader.until(lambda: reader.is_over)
        await database.execute("grant select on boat to authenticated")
        await database.execute("alter policy crews on boat using (sails_in(harbour))")

    assert reader.events[-1][0] == "error"
    assert json.loads(reader.events[-1][1])["code"] == "42501"


async def test_an_id_resumes_without_sending_the_same_again(
    boats: Platform, database: asyncpg.Connection
) -> None:
    service = boats.values["SERVICE_ROLE_KEY"]
    async with reading(boats, None, apikey=service) as first:
        await first.until_rows(1, 2, 3)
    async with reading(boats, None, apikey=service, **{"last-event-id": first.last_id}) as same:
        await same.until(lambda: bool(same.events))
        same.rows = first.rows
        await database.execute("delete from boat where id = 3")
        await same.until_rows(1, 2)
    async with reading(boats, None, apikey=service, **{"last-event-id": first.last_id}) as other:
        await other.until_rows(1, 2)

    assert [name for name, _ in same.events] == ["unchanged", "patch"]
    assert [name for name, _ in other.events] == ["result"]


async def test_counts_objects_and_functions_can_be_live(
    boats: Platform, database: asyncpg.Connection
) -> None:
    service = {"apikey": boats.values["SERVICE_ROLE_KEY"]}
    one = "text/event-stream, application/vnd.pgrst.object+json"
    counted = "/rest/v1/boat?select=id&order=id&limit=1"
    async with (
        reading(boats, None, counted, prefer="count=exact", **service) as count,
        reading(boats, None, "/rest/v1/boat?id=eq.2&select=id,name", **{**service, "accept": one}) as single,
        reading(boats, None, "/rest/v1/rpc/sails_in?wanted=2", **service) as called,
    ):
        await count.until(lambda: ("range", "0-0/3") in count.events)
        await single.until(lambda: single.rows == {"id": 2, "name": "Beagle"})
        await called.until(lambda: called.rows is False)
        await database.execute("update boat set name = 'Beagle II' where id = 2")
        await database.execute("delete from boat where id = 3")
        await count.until(lambda: ("range", "0-0/2") in count.events)
        await single.until(lambda: single.rows == {"id": 2, "name": "Beagle II"})


async def test_a_token_that_expires_ends_the_stream(boats: Platform, database: asyncpg.Connection) -> None:
    del database
    short = token(boats, sub=ADA, exp=int(time.time()) + 2)
    async with reading(boats, None, authorization=f"Bearer {short}") as reader:
        await reader.until(lambda: reader.is_over)

    assert reader.events[-1][0] == "expired"


@pytest.mark.parametrize(
    ("path", "method", "person", "status", "message"),
    [
        ("/rest/v1/mast", "GET", ADA, 400, 'alter publication supabase_realtime add table "public"."mast";'),
        ("/rest/v1/boat?nothing=eq.1", "GET", ADA, 400, "nothing"),
        ("/rest/v1/boat?select=id", "GET", "", 401, "JWT"),
        ("/rest/v1/nothing", "GET", ADA, 404, "public.nothing"),
        ("/rest/v1/boat", "SUBSCRIBE", ADA, 405, "Accept: text/event-stream"),
    ],
)
async def test_what_cannot_be_live_is_refused_before_the_stream(
    boats: Platform, path: str, method: str, person: str, status: int, message: str
) -> None:
    bearer = token(boats, sub=person) if person else "no token"
    headers = {
        "apikey": boats.values["ANON_KEY"],
        "accept": "text/event-stream",
        "authorization": f"Bearer {bearer}",
    }
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, boats.url + path, headers=headers) as answer,
    ):
        assert answer.status == status
        assert message in (await answer.json())["message"]


async def test_the_example_of_the_page_follows_a_read(boats: Platform, database: asyncpg.Connection) -> None:
    page = (Path(__file__).parents[2] / "docs" / "live-reads.md").read_text()
    example = page.split("```js\n")[1].split("```")[0]
    headers = json.dumps({"apikey": boats.values["SERVICE_ROLE_KEY"]})
    program = f"""{example}
await follow({json.dumps(boats.url + BOATS)}, {headers}, (rows) => {{ console.log(JSON.stringify(rows)); return rows.length !== 1 }})
"""
    node = await asyncio.create_subprocess_exec(
        "node", "--input-type=module", "-e", program, stdout=asyncio.subprocess.PIPE
    )
    assert node.stdout is not None
    seen = json.loads(await node.stdout.readline())
    await database.execute("delete from boat where id < 3")
    last = (await node.stdout.read()).splitlines()[-1]

    assert [row["id"] for row in seen] == [1, 2, 3]
    assert [row["id"] for row in json.loads(last)] == [3]
    assert await node.wait() == 0
