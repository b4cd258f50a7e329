"""One caller learns of another's rows from their changes: by filters, by old versions, by resuming."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import asyncpg
import pytest_asyncio

from tests.platform import Platform
from tests.platforms.graphql_socket import admitted

PATIENCE_S = 60
LAST = 1000
"""Rows from here on are everybody's: one of them ends what a follower waits for."""

_SCHEMA = f"""
create table public.sealed (id int primary key, secret text);
alter table public.sealed replica identity full;
alter table public.sealed enable row level security;
create policy last on public.sealed using (pg_catalog.int4larger(id, {LAST}) = id);
create table public.opened (id int primary key);
create table public.drafts (id int primary key, body text);
alter table public.drafts replica identity full;
alter table public.drafts enable row level security;
create policy opened on public.drafts using (exists (select from public.opened where opened.id = drafts.id));
insert into public.opened select generate_series({LAST}, {LAST + 100});
grant all on public.sealed, public.opened, public.drafts to anon;
alter publication supabase_realtime add table public.sealed, public.drafts;
"""


@pytest_asyncio.fixture(scope="module")
async def database(target: Platform) -> AsyncIterator[asyncpg.Connection]:
    """A connection as the owner of the tables."""
    connection = await asyncpg.connect(target.values["DB_URL"])
    await connection.execute(_SCHEMA)
    await connection.execute("notify pgrst, 'reload schema'")
    yield connection
    await connection.close()


class Follower:
    """An anonymous client that follows a table by server-sent events."""

    def __init__(self, target: Platform, query: str, since: str = "") -> None:
        self.url = f"{target.url}/realtime/v1/changes?{query}" + (f"&since={since}" if since else "")
        self.key = target.values["ANON_KEY"]
        self.changes: list[dict[str, Any]] = []
        self.position = ""
        self.subscribed, self.ended = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Read events until the row that everybody may see."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(self.url, headers={"apikey": self.key}) as answer,
        ):
            assert answer.status == 200, await answer.text()
            event: dict[str, str] = {}
            async for raw in answer.content:
                name, _, value = raw.decode().rstrip("\n").partition(":")
                if name:
                    event[name] = value.removeprefix(" ")
                    continue
                self._take(event)
                event = {}
                if self.ended.is_set():
                    return

    def _take(self, event: dict[str, str]) -> None:
        self.position = event.get("id", self.position)
        match event.get("event", "message" if "data" in event else ""):
            case "subscribed":
                self.subscribed.set()
            case "message":
                change = json.loads(event["data"])
                self.changes.append(change)
                if (change.get("record") or {}).get("id", 0) >= LAST:
                    self.ended.set()

    @property
    def seen(self) -> list[tuple[str, object, object]]:
        """What came: the event, the new row and the old one."""
        return [(each["type"], each.get("record"), each.get("old_record")) for each in self.changes]


@contextlib.asynccontextmanager
async def following(*followers: Follower) -> AsyncIterator[None]:
    """Follow until everyone has heard the last row, which the block writes."""
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        for follower in followers:
            tasks.create_task(follower.run())
        for follower in followers:
            await follower.subscribed.wait()
        yield


async def test_filters_of_deletions_tell_nothing_of_hidden_rows(
    target: Platform, database: asyncpg.Connection
) -> None:
    await database.execute("insert into sealed values (1, 'TOP SECRET'), (2, 'PLAIN')")
    guesses = [
        Follower(target, f"table=sealed&filter={filter}")
        for filter in (
            "secret=like.TOP%25",
            "secret=neq.PLAIN",
            "secret=not.is.null",
            "secret=eq.TOP%20SECRET,id=gt.0",
        )
    ]
    by_key = Follower(target, "table=sealed&filter=id=neq.2")

    async with following(*guesses, by_key):
        await database.execute("delete from sealed")
        await database.execute("insert into sealed values ($1, 'TOP SECRET'), ($1 + 1, 'TOP SECRET')", LAST)

    assert [[kind for kind, _, _ in each.seen] for each in guesses] == [["INSERT"]] * len(guesses)
    assert by_key.seen[0] == ("DELETE", None, {"id": 1})


async def test_filters_of_deletions_over_graphql_tell_nothing_of_hidden_rows(
    target: Platform, database: asyncpg.Connection
) -> None:
    await database.execute("delete from sealed")
    await database.execute("insert into sealed values (1, 'TOP SECRET')")
    async with asyncio.timeout(PATIENCE_S):
        while b"sealed" not in (await _introspected(target)):
            await asyncio.sleep(0.05)

    async with admitted(target) as talk:
        await talk.live(
            "1",
            'subscription { sealedChanges(event: [INSERT, DELETE], filter: {secret: {like: "TOP%"}}) { event old { id } } }',
        )
        await database.execute("delete from sealed")
        await database.execute("insert into sealed values ($1, 'TOP SECRET')", LAST)
        await talk.until(lambda: any("INSERT" in json.dumps(each) for each in talk.results("1")))

    assert [each["data"]["sealedChanges"]["event"] for each in talk.results("1")] == ["INSERT"]


async def _introspected(target: Platform) -> bytes:
    query = {"query": "{ __schema { types { name } } }"}
    headers = {"apikey": target.values["ANON_KEY"]}
    url = f"{target.url}/graphql/v1"
    async with aiohttp.ClientSession() as session, session.post(url, json=query, headers=headers) as answer:
        return await answer.read()


async def test_a_resume_hands_out_no_version_from_before_access_was_granted(
    target: Platform, database: asyncpg.Connection
) -> None:
    await database.execute("delete from drafts")
    before = Follower(target, "table=drafts")
    async with following(before):
        await database.execute("insert into drafts values ($1, 'last')", LAST)
    await database.execute("insert into drafts values (1, 'TOP SECRET')")
    await database.execute("update drafts set body = 'TOP SECRET too' where id = 1")
    await database.execute("update drafts set body = 'published' where id = 1")
    await database.execute("insert into opened values (1)")

    after = Follower(target, "table=drafts", before.position)
    filtered = Follower(target, "table=drafts&filter=body=neq.x", before.position)
    async with following(after, filtered):
        await database.execute("insert into drafts values ($1 + 1, 'last')", LAST)

    last = ("INSERT", {"id": LAST + 1, "body": "last"}, None)
    published = ("UPDATE", {"id": 1, "body": "published"}, {"id": 1})
    assert after.seen == [("INSERT", {"id": 1}, None), published, last]
    assert filtered.seen == [published, last]


async def test_a_version_that_nobody_could_see_is_not_delivered(
    target: Platform, database: asyncpg.Connection
) -> None:
    await database.execute("delete from drafts; insert into opened values (2) on conflict do nothing")
    follower = Follower(target, "table=drafts")

    async with following(follower):
        async with database.transaction():
            await database.execute("insert into drafts values (2, 'TOP SECRET')")
            await database.execute("update drafts set body = 'published' where id = 2")
        await database.execute("insert into drafts values ($1 + 2, 'last')", LAST)

    # The deletions from before the join may arrive after it, where the stream is behind.
    assert [change for change in follower.seen if change[0] != "DELETE"][:2] == [
        ("INSERT", {"id": 2}, None),
        ("UPDATE", {"id": 2, "body": "published"}, {"id": 2}),
    ]
