"""Writes with an Idempotency-Key: carried out once, whatever happens between the write and its answer."""

import asyncio
import json
import os
import signal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
import asyncpg
import pytest
from multidict import CIMultiDictProxy

from tests.platform import Platform
from tests.platforms.conftest import pid_of, token

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(180)]

_PATIENCE_S = 60
_SLEEPING = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"


@dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int
    headers: CIMultiDictProxy[str]
    body: str

    @property
    def is_replay(self) -> bool:
        return self.headers.get("Idempotency-Replayed") == "true"


@dataclass(frozen=True)
class Sender:
    """Sends requests of one caller to a platform."""

    running_platform: Platform
    headers: Mapping[str, str]

    async def send(self, method: str, path: str, body: object, key: str | None, **more: str) -> Reply:
        headers = {**self.headers, **{name.replace("_", "-"): value for name, value in more.items()}}
        if key is not None:
            headers["Idempotency-Key"] = key
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.running_platform.url + path, json=body, headers=headers) as answer,
        ):
            return Reply(answer.status, answer.headers, await answer.text())

    async def add(self, name: str, key: str | None, **arguments: object) -> Reply:
        """Call the function that counts how often it is called."""
        return await self.send("POST", "/rest/v1/rpc/add_to_tally", {"of_name": name, **arguments}, key)


@pytest.fixture
def server(running_platform: Platform, service: dict[str, str]) -> Sender:
    """A trusted server."""
    return Sender(running_platform, service)


@pytest.fixture
def key() -> str:
    return str(uuid.uuid4())


async def number(running_platform: Platform, sql: str) -> int:
    """Return the one number that a statement gives."""
    connection = await asyncpg.connect(running_platform.values["DB_URL"])
    try:
        return int(await connection.fetchval(sql))
    finally:
        await connection.close()


async def tally(running_platform: Platform, name: str) -> int:
    return await number(running_platform, f"select coalesce(max(n), 0) from tallies where name = '{name}'")


async def until_positive(running_platform: Platform, sql: str) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not await number(running_platform, sql):
            await asyncio.sleep(0.01)


async def test_a_repeat_returns_the_first_answer(server: Sender, key: str) -> None:
    body, wanted = {"note": key}, "return=representation"

    first = await server.send("POST", "/rest/v1/journal", body, key, Prefer=wanted)
    again = await server.send("POST", "/rest/v1/journal", body, f'"{key}"', Prefer=wanted)

    assert (first.status, first.is_replay) == (201, False)
    assert (again.status, again.body, again.is_replay) == (201, first.body, True)
    for name in ("Content-Type", "Content-Range", "Preference-Applied", "Vary"):
        assert again.headers.get(name) == first.headers.get(name)
    exposed = "access-control-expose-headers"
    assert "Idempotency-Replayed" in ", ".join(again.headers.getall(exposed))
    assert await number(server.running_platform, f"select count(*) from journal where note = '{key}'") == 1


_ADD = {"of_name": "NAME"}
_WRITES = {
    "rpc": ("POST", "/rest/v1/rpc/add_to_tally", _ADD),
    "upsert": ("POST", "/rest/v1/tallies?on_conflict=name", {"name": "NAME", "n": 1}),
    "PUT": ("PUT", "/rest/v1/tallies?name=eq.NAME", {"name": "NAME", "n": 1}),
    "batch": ("POST", "/rest/v1/", [{"method": "POST", "path": "/rpc/add_to_tally", "body": _ADD}]),
    "batch that ends by a read": (
        "POST",
        "/rest/v1/",
        [
            {"method": "POST", "path": "/rpc/add_to_tally", "body": _ADD},
            {"method": "GET", "path": "/tallies?name=eq.NAME"},
        ],
    ),
    "GraphQL": (
        "POST",
        "/graphql/v1",
        {"query": 'mutation { insertIntotalliesCollection(objects: [{name: "NAME", n: 1}]) { records { name n } } }'},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", _WRITES)
async def test_every_kind_of_write_is_carried_out_once(kind: str, server: Sender, key: str) -> None:
    method, path, body = json.loads(json.dumps(_WRITES[kind]).replace("NAME", key))
    more = {"Prefer": "return=representation,resolution=merge-duplicates"}

    first = await server.send(method, path, body, key, **more)
    again = await server.send(method, path, body, key, **more)

    assert first.status in (200, 201), first.body
    assert "errors" not in first.body
    assert (again.status, again.body, again.is_replay) == (first.status, first.body, True)
    assert again.headers["Headwater-Txid"] == first.headers["Headwater-Txid"]
    row = f"select xmin::text::int8 from tallies where name = '{key}'"
    assert first.headers["Headwater-Txid"] == str(await number(server.running_platform, row))
    assert await tally(server.running_platform, key) == 1


async def test_a_repeated_delete_deletes_nothing_that_came_later(server: Sender, key: str) -> None:
    row = {"name": key}
    path = f"/rest/v1/tallies?name=eq.{key}"
    await server.send("POST", "/rest/v1/tallies", row, None)

    first = await server.send("DELETE", path, None, key)
    await server.send("POST", "/rest/v1/tallies", {**row, "n": 1}, None)
    again = await server.send("DELETE", path, None, key)

    assert (first.status, again.status, again.is_replay) == (204, 204, True)
    assert await tally(server.running_platform, key) == 1


async def test_a_conditional_write_is_not_judged_by_what_it_did_itself(server: Sender, key: str) -> None:
    path = f"/rest/v1/tallies?name=eq.{key}"
    await server.send("POST", "/rest/v1/tallies", {"name": key}, None)
    tag = (await server.send("GET", path, None, None)).headers["ETag"]

    first = await server.send("PATCH", path, {"n": 1}, key, If_Match=tag)
    again = await server.send("PATCH", path, {"n": 1}, key, If_Match=tag)
    other = await server.send("PATCH", path, {"n": 2}, str(uuid.uuid4()), If_Match=tag)

    assert (first.status, again.status, again.is_replay) == (204, 204, True)
    assert other.status == 412
    assert await tally(server.running_platform, key) == 1


async def test_of_many_at_once_one_is_carried_out(server: Sender, key: str) -> None:
    replies = await asyncio.gather(*(server.add(key, key, seconds=0.2) for _ in range(12)))
    later = await server.add(key, key, seconds=0.2)

    assert {reply.status for reply in replies} <= {200, 409}
    assert sum(reply.status == 200 and not reply.is_replay for reply in replies) == 1
    assert (later.status, later.is_replay, json.loads(later.body)["n"]) == (200, True, 1)
    assert await tally(server.running_platform, key) == 1


async def test_a_repeat_while_the_first_is_at_work_is_refused(server: Sender, key: str) -> None:
    first = asyncio.create_task(server.add(key, key, seconds=3))
    await until_positive(server.running_platform, _SLEEPING)

    meanwhile = await server.add(key, key, seconds=3)
    done = await first
    again = await server.add(key, key, seconds=3)

    assert meanwhile.status == 409, meanwhile.body
    assert json.loads(meanwhile.body)["code"] == "HW409"
    assert meanwhile.headers["Retry-After"] == "1"
    assert (done.status, again.status, again.is_replay) == (200, 200, True)
    assert await tally(server.running_platform, key) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "more"),
    [
        ("POST", "/rest/v1/tallies", {"name": "another"}, {}),
        ("POST", "/rest/v1/tallies?select=name", {"name": "NAME"}, {}),
        ("POST", "/rest/v1/tallies", {"name": "NAME"}, {"Content-Profile": "public"}),
        ("PUT", "/rest/v1/tallies?name=eq.NAME", {"name": "NAME"}, {}),
        ("POST", "/rest/v1/", [{"method": "POST", "path": "/tallies", "body": {"name": "NAME"}}], {}),
        ("POST", "/graphql/v1", {"query": "mutation { deleteFromtalliesCollection { affectedCount } }"}, {}),
    ],
)
async def test_the_key_of_another_request_is_refused(
    server: Sender, key: str, method: str, path: str, body: object, more: dict[str, str]
) -> None:
    first = await server.send("POST", "/rest/v1/tallies", {"name": key}, key)
    body = json.loads(json.dumps(body).replace("NAME", key))

    other = await server.send(method, path.replace("NAME", key), body, key, **more)

    assert first.status == 201
    assert (other.status, other.is_replay) == (422, False), other.body
    assert (
        await number(
            server.running_platform, f"select count(*) from tallies where name in ('{key}', 'another')"
        )
        == 1
    )


@pytest.mark.parametrize("wrong", ["", " ", "k" * 256, '"unclosed', 'inner"quote"', "schlüssel", '""'])
@pytest.mark.parametrize("area", ["rest", "graphql"])
async def test_what_is_no_key_is_refused(server: Sender, key: str, wrong: str, area: str) -> None:
    if wrong == 'inner"quote"':
        wrong = f'"{wrong}"'
    method, path, body = json.loads(
        json.dumps(_WRITES["rpc" if area == "rest" else "GraphQL"]).replace("NAME", key)
    )

    reply = await server.send(method, path, body, wrong)

    assert reply.status == 400, reply.body
    assert "Idempotency-Key" in reply.body
    assert await tally(server.running_platform, key) == 0


async def test_a_write_that_fails_leaves_no_answer(server: Sender, key: str) -> None:
    await server.send("POST", "/rest/v1/tallies", {"name": key}, None)
    failed = await server.send("POST", "/rest/v1/tallies", {"name": key, "n": 1}, key)
    await server.send("DELETE", f"/rest/v1/tallies?name=eq.{key}", None, None)
    mended = await server.send("POST", "/rest/v1/tallies", {"name": key, "n": 1}, key)

    assert (failed.status, mended.status, mended.is_replay) == (409, 201, False)
    assert await tally(server.running_platform, key) == 1


async def test_a_mutation_is_replayed_in_the_media_type_that_is_accepted_now(
    server: Sender, key: str
) -> None:
    _, path, body = json.loads(json.dumps(_WRITES["GraphQL"]).replace("NAME", key))
    accepted = ["application/graphql-response+json", "application/json", "application/graphql-response+json"]

    replies = [await server.send("POST", path, body, key, Accept=kind) for kind in accepted]

    assert [reply.is_replay for reply in replies] == [False, True, True]
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert [reply.headers["Content-Type"].partition(";")[0] for reply in replies] == accepted
    assert len({reply.body for reply in replies}) == 1
    assert "errors" not in replies[0].body
    assert await tally(server.running_platform, key) == 1


async def test_a_write_that_fails_at_its_commit_leaves_no_answer(server: Sender, key: str) -> None:
    row = {"id": key, "seconds": 0, "is_refused": True}

    replies = [await server.send("POST", "/rest/v1/slow_commits", row, key) for _ in range(2)]

    for reply in replies:
        assert (reply.status, json.loads(reply.body)["message"]) == (409, "refused at the commit")


async def test_a_mutation_that_fails_leaves_no_answer(server: Sender, key: str) -> None:
    _, path, body = json.loads(json.dumps(_WRITES["GraphQL"]).replace("NAME", key))
    await server.send("POST", "/rest/v1/tallies", {"name": key}, None)
    failed = await server.send("POST", path, body, key)
    await server.send("DELETE", f"/rest/v1/tallies?name=eq.{key}", None, None)
    mended = await server.send("POST", path, body, key)

    assert "tallies_pkey" in failed.body
    assert "errors" not in mended.body
    assert not mended.is_replay
    assert await tally(server.running_platform, key) == 1


async def test_reads_take_no_notice_of_a_key(server: Sender, key: str) -> None:
    reads = [("POST", "/rest/v1/rpc/tally_of", {"of_name": key}), ("GET", "/rest/v1/tallies", None)]
    reads.append(
        ("POST", "/graphql/v1", {"query": "{ talliesCollection(first: 1) { edges { node { n } } } }"})
    )

    replies = [await server.send(*read, key) for read in reads for _ in range(2)]

    assert {(reply.status, reply.is_replay) for reply in replies} == {(200, False)}


async def test_callers_do_not_share_keys(running_platform: Platform, server: Sender, key: str) -> None:
    anonymous = Sender(running_platform, {"apikey": running_platform.values["ANON_KEY"]})
    users = [
        Sender(running_platform, {"apikey": running_platform.values["ANON_KEY"], "Authorization": f"Bearer {token(running_platform, **claims)}"})
        for claims in ({"sub": "ada"}, {"sub": "bob"}, {"sub": "ada", "iss": "elsewhere"}, {"email": "ada@x.y"})
    ]  # fmt: skip

    replies = [await sender.add(key, key) for sender in (server, anonymous, *users)]
    refreshed = Sender(
        running_platform,
        {
            "apikey": running_platform.values["ANON_KEY"],
            "Authorization": f"Bearer {token(running_platform, sub='ada', iat=1, session_id=key)}",
        },
    )
    again = await refreshed.add(key, key)

    assert [json.loads(reply.body)["n"] for reply in replies] == [1, 2, 3, 4, 5, 6]
    assert (json.loads(again.body)["n"], again.is_replay) == (3, True)


async def test_a_long_answer_is_not_stored_but_its_write_is_not_repeated(server: Sender, key: str) -> None:
    first = await server.add(key, key, size=1 << 20)
    again = await server.add(key, key, size=1 << 20)

    assert (first.status, len(first.body) > 1 << 20) == (200, True)
    assert (again.status, again.body, again.is_replay) == (204, "", True)
    assert await tally(server.running_platform, key) == 1


async def test_a_worker_killed_between_commit_and_answer_changes_nothing_for_a_repeat(
    server: Sender, key: str
) -> None:
    running_platform, row = server.running_platform, {"id": key, "seconds": 2}
    first = asyncio.create_task(
        server.send("POST", "/rest/v1/slow_commits", row, key, Prefer="return=representation")
    )
    worker = pid_of(running_platform, "pools")
    stored = f"select count(*) from slow_commits where id = '{key}'"
    await until_positive(running_platform, _SLEEPING)
    os.kill(worker, signal.SIGSTOP)  # the commit is on its way; its answer is never read
    await until_positive(running_platform, stored)
    os.kill(worker, signal.SIGKILL)
    lost = await first

    async with asyncio.timeout(_PATIENCE_S):
        while (
            again := await server.send(
                "POST", "/rest/v1/slow_commits", row, key, Prefer="return=representation"
            )
        ).status in (409, 503, 504):
            await asyncio.sleep(0.1)

    assert lost.is_replay or (lost.status, '"outcome":"unknown"' in lost.body) == (504, True), lost
    assert (again.status, again.is_replay) == (201, True)
    assert json.loads(again.body) == [{"id": key, "seconds": 2, "is_refused": False}]
    assert await number(running_platform, stored) == 1
