"""Reads run on a streaming replica where they may, never before the caller's own write, and never with an error of the replica."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator

import asyncpg
import pytest

from schemas.caller import AnonymousCaller
from schemas.http import Response, header
from schemas.positions import POSITION
from schemas.subscriptions import PLAN, RUN
from tests.broker.server import NatsServer, running_server
from tests.workers.database.introspection_fixtures import connected, fresh_database, in_database, login_role
from tests.workers.database.own_server import OwnServer, own_server
from tests.workers.database.replicas.replicated import (
    LOGIN,
    ON_REPLICA,
    SCHEMA,
    SERVICE,
    Replicated,
    replicated,
    standby_named,
    user,
)
from tests.workers.database.standby import PRIMARY, Standby
from workers.database.replicas.facts import replica_facts
from workers.database.replicas.replica import ReplicaUnusable

pytestmark = pytest.mark.process_group("replicas")

_ROLES = login_role(LOGIN, "replicas_anon", "replicas_user", "replicas_service")
_NO_PATIENCE = {"max_standby_streaming_delay": "0", "hot_standby_feedback": "off"}


@pytest.fixture(scope="module")
async def primary() -> AsyncIterator[OwnServer]:
    async with own_server(**PRIMARY) as server:
        yield server


@pytest.fixture(scope="module")
async def nats() -> AsyncIterator[NatsServer]:
    async with running_server() as server:
        yield server


@pytest.fixture
async def own_nats() -> AsyncIterator[NatsServer]:
    """A broker for pools of a test's own: the shared ones must not answer their requests."""
    async with running_server() as server:
        yield server


@pytest.fixture(scope="module")
async def database(primary: OwnServer) -> AsyncIterator[str]:
    async with fresh_database(primary.url, _ROLES, SCHEMA) as url:
        yield url


@pytest.fixture(scope="module")
async def standby(primary: OwnServer, database: str) -> AsyncIterator[Standby]:
    async with standby_named(primary, "the_replica", **_NO_PATIENCE) as server:
        yield server


@pytest.fixture(scope="module")
async def shared(nats: NatsServer, database: str, standby: Standby) -> AsyncIterator[Replicated]:
    async with replicated(nats, database, [standby], roles=["replicas_anon"]) as pools:
        await pools.until_fresh()
        yield pools


@pytest.fixture
async def pools(shared: Replicated) -> Replicated:
    """The pools when nothing stands between them and the replica any more."""
    await shared.until_on_replica(prefer="replica")
    return shared


def _data(response: Response) -> object:
    return json.loads(response.body)["data"]


def token_of(response: Response) -> str:
    token = header(response.headers, POSITION)
    assert token, response
    return token


async def test_preference_and_role_choose_a_replica(pools):
    response = await pools.send("GET", "/place", prefer="replica, handling=strict")

    assert json.loads(response.body) == [{"is_replica": True, "role": "replicas_service"}]
    assert header(response.headers, "preference-applied") == "handling=strict"
    assert ("preference-applied", "replica") in response.headers
    assert not await pools.runs_on_replica()
    assert await pools.runs_on_replica(AnonymousCaller())
    assert not await pools.runs_on_replica(AnonymousCaller(), prefer="primary")


async def test_policies_and_claims_are_those_of_the_caller(pools):
    rows = await pools.send("GET", "/notes?select=id,owner&id=lt.3", caller=user("ada"), prefer="replica")
    forbidden = await pools.send("GET", "/notes", caller=AnonymousCaller())

    assert ("preference-applied", "replica") in rows.headers
    assert json.loads(rows.body) == [{"id": 1, "owner": "ada"}]
    assert forbidden.status == 401
    assert json.loads(forbidden.body)["code"] == "42501"


async def test_head_counts_on_a_replica(pools):
    response = await pools.send("HEAD", "/plain", prefer="replica, count=exact")

    assert response.status == 200
    assert ("preference-applied", "replica") in response.headers


async def test_graphql_queries_run_on_a_replica_and_mutations_do_not(pools):
    read = await pools.graphql("{ where_am_i }", prefer="replica")
    asked_for_primary = await pools.graphql("{ where_am_i }")
    written = await pools.graphql(
        'mutation { insertIntonotesCollection(objects: [{id: 50, owner: "x", text: "y"}]) { affectedCount } }',
        prefer="replica",
    )

    assert json.loads(read.body) == {"data": {"where_am_i": True}}, read.body
    assert json.loads(asked_for_primary.body) == {"data": {"where_am_i": False}}
    assert header(read.headers, POSITION) is None
    assert json.loads(written.body)["data"] == {"insertIntonotesCollection": {"affectedCount": 1}}
    assert token_of(written)


async def test_live_queries_read_the_primary_and_mutations_over_a_socket_have_a_position(pools):
    document = "{ boardCollection { edges { node { from_replica } } } }"
    live = await pools.subscribe(RUN, f"subscription {document}", AnonymousCaller())
    asked = await pools.graphql(document, AnonymousCaller())
    mutation = 'mutation { insertIntonotesCollection(objects: [{id: 70, owner: "x"}]) { affectedCount } }'
    written = await pools.subscribe(PLAN, mutation, SERVICE)

    assert _data(live) == {"boardCollection": {"edges": [{"node": {"from_replica": False}}]}}
    assert _data(asked) == {"boardCollection": {"edges": [{"node": {"from_replica": True}}]}}
    assert header(live.headers, POSITION) is None
    assert token_of(written)


async def test_stable_functions_run_on_a_replica_and_volatile_ones_on_the_primary(pools):
    stable = await pools.send("GET", "/rpc/where_am_i", prefer="replica")
    posted = await pools.send("POST", "/rpc/where_am_i", {}, prefer="replica")
    volatile = await pools.send("GET", "/rpc/where_volatile", prefer="replica")
    writing = await pools.send("POST", "/rpc/add_note", {"n": 60}, prefer="replica")

    assert (stable.body, posted.body, volatile.body, writing.body) == (b"true", b"true", b"false", b"60")
    assert header(posted.headers, POSITION) is None
    assert token_of(writing)


async def test_what_a_standby_rejects_runs_on_the_primary(pools):
    announced = await pools.send("GET", "/rpc/announces", prefer="replica")
    teapot = await pools.send("GET", "/rpc/fails", prefer="replica")

    assert (announced.status, announced.body) == (200, b"false"), announced
    assert (teapot.status, json.loads(teapot.body)["message"]) == (418, "a teapot")


async def test_read_after_write_waits_for_the_replica_to_replay_it(pools, standby, database):
    before = await pools.send("POST", "/plain", {"id": 1}, caller=user("ada"))
    await pools.until_on_replica(prefer="replica", headwater_position=token_of(before))
    async with connected(in_database(standby.url, database.rpartition("/")[2])) as admin:
        await admin.execute("select pg_wal_replay_pause()")
        try:
            written = await pools.send("POST", "/plain", {"id": 2}, caller=user("ada"))
            token = token_of(written)
            own = await pools.send("GET", "/plain?id=eq.2", prefer="replica", headwater_position=token)
            other = await pools.send("GET", "/plain?id=eq.2", prefer="replica")
            unknown = await pools.runs_on_replica(prefer="replica", headwater_position="nonsense")
            both = await pools.runs_on_replica(prefer="replica", headwater_position=f"0.1, {token}")
        finally:
            await admin.execute("select pg_wal_replay_resume()")
    remembered = pools.writes.with_position([], user("ada").claims.decode())

    assert json.loads(own.body) == [{"id": 2}]
    assert json.loads(other.body) == []  # the replica, which is 30 s behind at most
    assert (unknown, both) == (False, False)
    assert remembered == [(POSITION, token)]
    await pools.until_on_replica(prefer="replica", headwater_position=token)


async def test_replica_that_falls_behind_is_not_read(own_nats, database, standby):
    async with (
        replicated(own_nats, database, [standby], max_lag=1) as pools,
        connected(in_database(standby.url, database.rpartition("/")[2])) as admin,
    ):
        await pools.until_on_replica(prefer="replica")
        await admin.execute("select pg_wal_replay_pause()")
        try:
            await pools.send("POST", "/plain", {"id": 10})
            async with asyncio.timeout(60):
                while (rows := await pools.send("GET", "/plain?id=eq.10", prefer="replica")).body == b"[]":
                    await asyncio.sleep(0.02)
        finally:
            await admin.execute("select pg_wal_replay_resume()")
        await pools.until_on_replica(prefer="replica")

    assert json.loads(rows.body) == [{"id": 10}]


async def test_conflict_with_the_replay_is_read_again_on_the_primary(pools, standby, database):
    assert pools.resources.replicas is not None
    replica = pools.resources.replicas.replicas[0]
    retried = replica.retried
    reading = asyncio.create_task(pools.send("GET", "/rpc/slow_on_replicas", prefer="replica"))
    async with connected(in_database(standby.url, database.rpartition("/")[2])) as admin:
        await _until(admin, ON_REPLICA)
    async with connected(database) as admin:
        await admin.execute("alter table plain add column extra int; alter table plain drop column extra")

    response = await reading

    assert (response.status, response.body) == (200, b"false"), response
    assert replica.retried == retried + 1


async def test_stopped_replica_gives_no_error(pools, standby, database):
    reading = asyncio.create_task(pools.send("GET", "/rpc/slow_on_replicas", prefer="replica"))
    async with connected(in_database(standby.url, database.rpartition("/")[2])) as admin:
        await _until(admin, ON_REPLICA)

    standby.stop()
    interrupted = await reading
    during = [await pools.runs_on_replica(prefer="replica") for _ in range(20)]
    await standby.start()

    assert (interrupted.status, interrupted.body) == (200, b"false"), interrupted
    assert during == [False] * 20
    await pools.until_on_replica(prefer="replica")


async def test_silent_replica_gives_no_error(pools, standby, database):
    reading = asyncio.create_task(pools.send("GET", "/rpc/slow_on_replicas", prefer="replica"))
    async with connected(in_database(standby.url, database.rpartition("/")[2])) as admin:
        await _until(admin, ON_REPLICA)
        pids = [row["pid"] for row in await admin.fetch(
            "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
        )]  # fmt: skip
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        response = await reading
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    assert (response.status, response.body) == (200, b"false"), response
    await pools.until_on_replica(prefer="replica")


async def test_reads_are_spread_and_a_server_that_is_none_of_ours_is_left_out(
    own_nats, database, standby, monkeypatch
):
    observed: list[object] = []
    monkeypatch.setattr("workers.database.replicas.replica.observe", observed.append)
    async with own_server() as other_server:
        primary_port = int(database.rpartition(":")[2].partition("/")[0])
        async with replicated(own_nats, database, [other_server, primary_port, standby]) as pools:
            await pools.until_fresh()
            assert pools.resources.replicas is not None
            faults = {}
            async with asyncio.timeout(60):
                while len(faults) < 2 or "measured yet" in str(faults):
                    faults = {one.name: one.fault for one in pools.resources.replicas.replicas if one.fault}
                    await asyncio.sleep(0.02)
            await pools.until_on_replica(prefer="replica")

    assert faults[f"127.0.0.1:{primary_port}"] == (
        "it is not a replica (any more): it was promoted, or it is the primary itself"
    )
    assert faults[f"127.0.0.1:{other_server.port}"]
    assert not [one for one in observed if isinstance(one, ReplicaUnusable)]


async def test_promoted_replica_is_not_read(own_nats, primary, database):
    async with (
        standby_named(primary, "the_promoted") as standby,
        replicated(own_nats, database, [standby]) as pools,
    ):
        await pools.until_on_replica(prefer="replica")
        assert pools.resources.replicas is not None
        replica = pools.resources.replicas.replicas[0]
        await standby.promote()
        async with asyncio.timeout(60):
            while "it was promoted" not in (replica.fault or ""):
                await asyncio.sleep(0.02)
        written = await pools.send("POST", "/plain", {"id": 20})
        rows = await pools.send("GET", "/plain?id=eq.20", prefer="replica")

    assert written.status == 201
    assert json.loads(rows.body) == [{"id": 20}]


async def _until(admin: asyncpg.Connection, query: str) -> None:
    async with asyncio.timeout(60):
        while not await admin.fetchval(query):
            await asyncio.sleep(0.02)


async def test_doctor_learns_what_each_replica_is(standby, database, primary):
    replica = in_database(standby.url, database.rpartition("/")[2])
    async with connected(database) as admin:
        await standby.catch_up(primary)
        good, itself, nothing = await replica_facts(
            [replica, database, "postgresql://tester:tester@127.0.0.1:1/postgres"], admin
        )
        of_a_replica = await _facts_seen_from(replica)

    assert (good.fault, good.behind_bytes < 1 << 20) == ("", True)
    assert itself.fault == "it is no replica: it was promoted, or it is the primary itself"
    assert nothing.fault
    assert of_a_replica == "db.url is not a primary itself"


async def _facts_seen_from(url: str) -> str:
    async with connected(url) as admin:
        facts = await replica_facts([url], admin)
    return facts[0].fault
