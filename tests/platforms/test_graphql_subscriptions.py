"""GraphQL subscriptions through a whole platform: live queries, row changes, their rights, and what hostile clients send."""

import asyncio
import itertools
import json
import os
import signal
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import aiohttp
import asyncpg
import pytest
import pytest_asyncio

from tests.platform import Platform
from tests.platforms.conftest import pid_of, token
from tests.platforms.graphql_socket import Talk, admitted, talking

ADA, BOB = str(uuid.uuid4()), str(uuid.uuid4())
SCHEMA = """
create table lamp (id bigint primary key, owner uuid, body text, weight numeric);
create table bulb (id int primary key, lamp_id bigint not null references lamp on delete cascade, watt int);
create table unpublished (id int primary key);
create view shining as select id, body from lamp where body <> '';
comment on view shining is '@graphql({"primary_key_columns": ["id"]})';
create function lamps_of(wanted uuid) returns setof lamp stable language sql as 'select * from lamp where owner = wanted';
alter table lamp enable row level security;
create policy own on lamp for select to authenticated using (owner = auth.uid());
alter table lamp replica identity full;
comment on table lamp is '@graphql({"totalCount": {"enabled": true}})';
alter publication supabase_realtime add table lamp, bulb;
grant select on lamp, bulb, unpublished, shining to anon, authenticated, service_role;
"""
LAMPS = "subscription { lampCollection(orderBy: [{id: AscNullsLast}]) { totalCount edges { node { id body bulbCollection { edges { node { watt } } } } } } }"
CHANGES = "subscription { lampChanges { event position commitTimestamp node { id body bulbCollection { edges { node { watt } } } } old { id body weight } } }"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def lamps(running_platform: Platform) -> AsyncIterator[Platform]:
    running_platform.psql(SCHEMA)
    deadline = time.monotonic() + 30
    while "errors" in _ask(running_platform, "{ lampCollection(first: 1) { __typename } }"):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    yield running_platform
    running_platform.psql("drop function lamps_of; drop view shining; drop table bulb, lamp, unpublished")


@pytest_asyncio.fixture
async def database(lamps: Platform) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(lamps.values["DB_URL"])
    await connection.execute("truncate lamp cascade")
    yield connection
    await connection.close()


def _ask(running_platform: Platform, query: str, **headers: str) -> Any:
    own = {"apikey": running_platform.values["ANON_KEY"], "content-type": "application/json", **headers}
    asked = urllib.request.Request(
        f"{running_platform.url}/graphql/v1", json.dumps({"query": query}).encode(), own, method="POST"
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return {"errors": [error.read().decode()]}


def ids(result: Any) -> list[str]:
    return [edge["node"]["id"] for edge in result["data"]["lampCollection"]["edges"]]


def events(results: list[Any], name: str = "lampChanges") -> list[tuple[str, str | None]]:
    return [(each["data"][name]["event"], (each["data"][name]["node"] or {}).get("id")) for each in results]


async def add(database: asyncpg.Connection, id: int, owner: str, body: str = "b") -> None:
    await database.execute("insert into lamp values ($1, $2, $3, 1.50)", id, owner, body)


# Live queries


async def test_a_live_query_tells_the_present_and_every_later_state_that_differs(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    await add(database, 1, ADA)
    async with admitted(lamps, token(lamps, sub=ADA)) as talk:
        await talk.live("q", LAMPS)
        await add(database, 2, ADA)
        await talk.until(lambda: ids(talk.results("q")[-1]) == ["1", "2"])
        await database.execute("insert into bulb values (1, 2, 60)")  # another table that the query reads
        await talk.until(lambda: '"watt": 60' in json.dumps(talk.results("q")[-1]))
        await database.execute("update lamp set weight = 2")  # nothing that the query shows
        await database.execute("delete from lamp where id = 1")
        await talk.until(lambda: ids(talk.results("q")[-1]) == ["2"])
        results = talk.results("q")

    assert ids(results[0]) == ["1"]
    assert all(one != other for one, other in itertools.pairwise(results))


async def test_each_caller_sees_their_own_rows_in_a_live_query(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    async with (
        admitted(lamps, token(lamps, sub=ADA)) as ada,
        admitted(lamps, token(lamps, sub=BOB)) as bob,
        admitted(lamps) as nobody,
    ):
        for talk in (ada, bob, nobody):
            await talk.live("q", LAMPS)
        for number in range(20):
            await add(database, number, ADA if number % 2 else BOB)
        await ada.until(lambda: len(ids(ada.results("q")[-1])) == 10)
        await bob.until(lambda: len(ids(bob.results("q")[-1])) == 10)

    assert {id for result in ada.results("q") for id in ids(result)} == {str(n) for n in range(1, 20, 2)}
    assert {id for result in bob.results("q") for id in ids(result)} == {str(n) for n in range(0, 20, 2)}
    assert [ids(result) for result in nobody.results("q")] == [[]]


async def test_views_functions_variables_and_fragments_can_be_live(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    view = "subscription { shiningCollection { edges { node { ...F } } } } fragment F on shining { id }"
    function = "subscription S($u: UUID!) { lamps: lamps_of(wanted: $u) { edges { node { id } } } }"
    key = lamps.values["SERVICE_ROLE_KEY"]
    async with admitted(lamps, apikey=key) as talk:
        await talk.live("view", view)
        await talk.live("function", function, {"u": ADA})
        await add(database, 7, ADA)
        await talk.until(lambda: '"7"' in json.dumps(talk.results("view")), "the view")
        await talk.until(lambda: '"7"' in json.dumps(talk.results("function")), "the function")


async def test_a_right_that_another_table_gives_brings_a_new_result(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    await add(database, 1, BOB)
    await database.execute(
        "create table keeper (person uuid primary key); grant select on keeper to authenticated"
    )
    await database.execute(
        "create policy kept on lamp for select to authenticated using (exists (select from keeper where person = auth.uid()))"
    )
    try:
        async with admitted(lamps, token(lamps, sub=ADA)) as talk:
            await talk.live("q", LAMPS)
            await database.execute("insert into keeper values ($1)", ADA)
            await talk.until(lambda: ids(talk.results("q")[-1]) == ["1"])
            await database.execute("drop policy kept on lamp")  # not a change of any row
            await talk.until(lambda: ids(talk.results("q")[-1]) == [])
    finally:
        await database.execute("drop policy if exists kept on lamp; drop table keeper")


async def test_equal_queries_of_equal_callers_run_together(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    bearer = token(lamps, sub=ADA)
    async with admitted(lamps, bearer) as one, admitted(lamps, bearer) as other:
        for number in range(50):
            await one.live(f"q{number}", LAMPS)
            await other.live(f"q{number}", LAMPS)
        assert _metric(lamps, "headwater_graphql_live_queries") == 1
        assert _metric(lamps, "headwater_graphql_operations") == 100
        await add(database, 3, ADA)
        for talk in (one, other):
            lasts = partial(_lasts, talk, 50)
            await talk.until(partial(_are, lasts, [["3"]] * 50))


async def test_what_cannot_be_followed_is_refused_with_the_cure(lamps: Platform) -> None:
    refusals = {
        "subscription { unpublishedCollection { edges { node { id } } } }": "alter publication supabase_realtime add table",
        "subscription { unpublishedChanges { event } }": "alter publication supabase_realtime add table",
        "subscription { nothing { id } }": 'Unknown field "nothing" on type Subscription',
        "subscription { a: lampCollection { __typename } b: lampCollection { __typename } }": "exactly one field",
        "subscription { __typename }": "about types",
        "subscription { lampCollection { nothing } }": "unknown field in connection",
        "subscription { lampChanges { nothing } }": 'Unknown field "nothing" on type lampChange',
        'subscription { lampChanges(since: "x") { event } }': "position",
        'subscription { lampChanges(filter: {or: [{id: {eq: "1"}}, {id: {eq: "2"}}]}) { event } }': "event: [INSERT, UPDATE]",
        "subscription { lampChanges(event: [TRUNCATE]) { event } }": "INSERT, UPDATE, DELETE",
        "subscription {": "",
    }
    async with admitted(lamps) as talk:
        for number, (query, expected) in enumerate(refusals.items()):
            await talk.subscribe(str(number), query)
            await talk.until(lambda number=number: bool(talk.of(str(number))))  # type: ignore[misc]  # a default binds the loop's value
            told = talk.of(str(number))[0]

            assert told["type"] == "error", told
            assert expected in told["payload"][0]["message"]


async def test_queries_and_mutations_are_done_over_the_socket(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    mutation = (
        'mutation { insertIntobulbCollection(objects: [{id: 9, lamp_id: "1", watt: 5}]) { affectedCount } }'
    )
    await add(database, 1, ADA)
    async with admitted(lamps, apikey=lamps.values["SERVICE_ROLE_KEY"]) as talk:
        await talk.subscribe("m", mutation)
        await talk.until(lambda: len(talk.of("m")) == 2)
        await talk.subscribe("q", "query A { __typename } ")
        await talk.until(lambda: len(talk.of("q")) == 2)

    assert talk.results("m") == [{"data": {"insertIntobulbCollection": {"affectedCount": 1}}}]
    assert [each["type"] for each in talk.of("q")] == ["next", "complete"]
    assert talk.results("q") == [{"data": {"__typename": "Query"}}]


# Row changes


async def test_row_changes_come_in_order_with_the_row_and_what_it_was(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    async with admitted(lamps, token(lamps, sub=ADA)) as talk:
        await talk.live("c", CHANGES)
        await add(database, 1, ADA, "one")
        await talk.until(lambda: len(talk.results("c")) == 1)
        await database.execute("insert into bulb values (1, 1, 40)")
        await database.execute("update lamp set body = 'two' where id = 1")
        await talk.until(lambda: len(talk.results("c")) == 2)
        await database.execute("delete from lamp where id = 1")
        await talk.until(lambda: len(talk.results("c")) == 3)
        inserted, updated, deleted = (each["data"]["lampChanges"] for each in talk.results("c"))

    assert inserted["event"] == "INSERT"
    assert inserted["node"]["body"] == "one"
    assert inserted["old"] is None
    assert updated["node"] == {
        "id": "1",
        "body": "two",
        "bulbCollection": {"edges": [{"node": {"watt": 40}}]},
    }
    assert updated["old"]["id"] == "1"
    assert deleted["event"] == "DELETE"
    assert deleted["node"] is None
    assert deleted["old"]["id"] == "1"
    assert inserted["position"] < updated["position"] < deleted["position"]
    assert inserted["commitTimestamp"].endswith("Z")


async def test_row_changes_reach_only_who_may_see_the_row(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    query = "subscription { lampChanges(event: [INSERT]) { event node { id owner } } }"
    async with (
        admitted(lamps, token(lamps, sub=ADA)) as ada,
        admitted(lamps, token(lamps, sub=BOB)) as bob,
        admitted(lamps) as nobody,
    ):
        for talk in (ada, bob, nobody):
            await talk.live("c", query)
        for number in range(100):
            await add(database, number, ADA if number % 2 else BOB)
        await ada.until(lambda: len(ada.results("c")) == 50)
        await bob.until(lambda: len(bob.results("c")) == 50)

    assert events(ada.results("c")) == [("INSERT", str(n)) for n in range(1, 100, 2)]
    assert events(bob.results("c")) == [("INSERT", str(n)) for n in range(0, 100, 2)]
    assert nobody.results("c") == []


FILTERS: dict[str, list[str]] = {
    '{body: {eq: "a,\\"b\\""}}': ["1"],
    '{body: {in: ["a,\\"b\\"", "(c)"]}}': ["1", "2"],
    '{id: {gt: "1"}, body: {neq: "(c)"}}': ["3"],
    '{and: [{id: {gte: "2"}}, {body: {like: "%)"}}]}': ["2"],
    "{body: {is: NULL}}": ["4"],
    '{or: [{id: {eq: "1"}}, {id: {eq: "3"}}]}': ["1", "3"],
    '{not: {body: {startsWith: "("}}}': ["1", "3"],
    '{id: {lt: "4"}, body: {startsWith: "("}}': ["2"],
}


@pytest.mark.parametrize("filter", FILTERS)
async def test_filters_hold_whether_the_feed_or_sql_decides_them(
    lamps: Platform, database: asyncpg.Connection, filter: str
) -> None:
    event = "event: [INSERT], " if "or:" in filter or "not:" in filter or "startsWith" in filter else ""
    query = f"subscription {{ lampChanges({event}filter: {filter}) {{ event node {{ id }} }} }}"
    async with admitted(lamps, token(lamps, sub=ADA)) as talk:
        await talk.live("c", query)
        await talk.live("all", "subscription { lampChanges { event node { id } } }")
        assert not talk.of("c"), talk.of("c")
        for id, body in ((1, 'a,"b"'), (2, "(c)"), (3, "d"), (4, None)):
            await add(database, id, ADA, body)  # type: ignore[arg-type]  # NULL is a value
        await talk.until(lambda: len(talk.results("all")) == 4)
        await talk.until(lambda: len(talk.results("c")) >= len(FILTERS[filter]))

    assert [id for _, id in events(talk.results("c"))] == FILTERS[filter]


async def test_a_client_goes_on_after_the_position_it_has(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    query = "subscription($since: String) { lampChanges(since: $since) { event position node { id } } }"
    bearer = token(lamps, sub=ADA)
    async with admitted(lamps, bearer) as talk:
        await talk.live("c", query)
        await add(database, 1, ADA)
        await talk.until(lambda: len(talk.results("c")) == 1)
        since = talk.results("c")[0]["data"]["lampChanges"]["position"]
    for number in range(2, 40):
        await add(database, number, ADA)
    async with admitted(lamps, bearer) as talk:
        await talk.live("c", query, {"since": since})
        await add(database, 40, ADA)
        await talk.until(lambda: len(talk.results("c")) >= 39)

    assert [id for _, id in events(talk.results("c"))] == [str(n) for n in range(2, 41)]


@pytest.mark.parametrize("part", ["nats", "pools"])
async def test_no_change_is_lost_for_an_open_socket_while_a_part_restarts(
    lamps: Platform, database: asyncpg.Connection, part: str
) -> None:
    async with admitted(lamps, token(lamps, sub=ADA)) as talk:
        await talk.live("c", "subscription { lampChanges { event node { id } } }")
        await talk.live("q", LAMPS)
        for number in range(120):
            await add(database, number, ADA)
            if number == 40:
                os.kill(pid_of(lamps, part), signal.SIGKILL)
            if number > 40:
                await asyncio.sleep(0.02)  # writing goes on while it comes back
        await talk.until(lambda: len(talk.results("c")) >= 120)
        await talk.until(lambda: talk.results("q")[-1]["data"]["lampCollection"]["totalCount"] == 120)

    assert [id for _, id in events(talk.results("c"))] == [str(n) for n in range(120)]


async def test_a_process_that_ends_sends_its_clients_elsewhere(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    async with admitted(lamps, token(lamps, sub=ADA)) as talk:
        await talk.live("q", LAMPS)
        os.kill(pid_of(lamps, "edges"), signal.SIGTERM)

        assert (await talk.until_closed())[0] == 1001
    deadline = time.monotonic() + 60
    while True:
        try:
            async with admitted(lamps, token(lamps, sub=ADA)) as talk:
                await talk.live("q", LAMPS)
                break
        except (aiohttp.ClientError, AssertionError):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
    del database


# Who is let in, and what clients send


async def test_clients_say_who_they_are_in_headers_the_query_or_the_payload(lamps: Platform) -> None:
    key, bearer = lamps.values["ANON_KEY"], f"Bearer {token(lamps, sub=ADA)}"
    async with talking(lamps, apikey=key, authorization=bearer) as talk:
        await talk.init()
        assert talk.closed is None
    async with talking(lamps, query=f"?apikey={key}") as talk:
        await talk.init(Authorization=bearer)
        assert talk.closed is None
    async with talking(lamps) as talk:
        await talk.init(headers={"apiKey": key, "authorization": bearer})
        assert talk.closed is None


async def test_who_is_not_known_is_closed_with_forbidden(lamps: Platform) -> None:
    expired = token(lamps, sub=ADA, exp=int(time.time()) - 10)
    for payload in (
        {},
        {"apikey": "wrong"},
        {"apikey": lamps.values["ANON_KEY"], "Authorization": f"Bearer {expired}"},
    ):
        async with talking(lamps) as talk:
            await talk.init(**payload)

            assert (await talk.until_closed())[0] == 4403


async def test_the_socket_ends_with_its_token(lamps: Platform) -> None:
    async with admitted(lamps, token(lamps, sub=ADA, exp=int(time.time()) + 2)) as talk:
        await talk.live("q", LAMPS)

        assert await talk.until_closed() == (4403, "JWT expired")


ACK = '{"type":"connection_init","payload":{"apikey":"KEY"}}'
CLOSING: dict[str, tuple[list[str], int]] = {
    "subscribing unknown": (['{"type":"subscribe","id":"1","payload":{"query":"{__typename}"}}'], 4401),
    "twice": ([ACK, ACK], 4429),
    "no JSON": ([ACK, "{"], 4400),
    "an unknown type": ([ACK, '{"type":"start","id":"1"}'], 4400),
    "a message of servers": ([ACK, '{"type":"next","id":"1","payload":{}}'], 4400),
    "no id": ([ACK, '{"type":"subscribe","payload":{"query":"{__typename}"}}'], 4400),
    "an empty id": ([ACK, '{"type":"subscribe","id":"","payload":{"query":"{__typename}"}}'], 4400),
    "no query": ([ACK, '{"type":"subscribe","id":"1","payload":{}}'], 4400),
    "a number as query": ([ACK, '{"type":"subscribe","id":"1","payload":{"query":1}}'], 4400),
    "a list of variables": ([ACK, '{"type":"subscribe","id":"1","payload":{"query":"{a}","variables":[1]}}'], 4400),
    "brackets": ([ACK, "[" * 100_000], 4400),
    "deep variables": ([ACK, '{"type":"ping","payload":{"a":' + '{"a":' * 5000 + "1" + "}" * 5001 + "}"], 4400),
    "a long frame": (['{"type":"ping","payload":{"a":"' + "x" * 1_100_000 + '"}}'], 1009),
}  # fmt: skip


@pytest.mark.parametrize("case", CLOSING)
async def test_frames_that_break_the_protocol_close_the_socket_with_their_code(
    lamps: Platform, case: str
) -> None:
    frames, code = CLOSING[case]
    async with talking(lamps) as talk:
        for frame in frames:
            await talk.socket.send_str(frame.replace("KEY", lamps.values["ANON_KEY"]))
            if frame == ACK:
                await talk.until(lambda: bool(talk.messages or talk.closed))

        assert (await talk.until_closed())[0] == code


async def test_an_id_in_use_closes_the_socket_and_one_that_is_free_again_does_not(
    lamps: Platform, database: asyncpg.Connection
) -> None:
    async with admitted(lamps) as talk:
        await talk.live("q", LAMPS)
        await talk.socket.send_json({"type": "complete", "id": "q"})
        await talk.live("q", LAMPS)
        await talk.subscribe("q", LAMPS)

        assert (await talk.until_closed())[0] == 4409
    del database


async def test_silence_binary_frames_and_other_protocols_are_refused(lamps: Platform) -> None:
    async with talking(lamps) as talk:
        assert (await talk.until_closed())[0] == 4408
    async with talking(lamps) as talk:
        await talk.socket.send_bytes(b"\x00")
        assert (await talk.until_closed())[0] == 4400
    async with talking(lamps, protocols=("graphql-ws",)) as talk:
        assert (await talk.until_closed())[0] == 4406


async def test_a_socket_has_only_so_many_operations(lamps: Platform) -> None:
    async with admitted(lamps) as talk:
        for number in range(101):
            await talk.subscribe(str(number), LAMPS)
        await talk.until(lambda: any(each["type"] == "error" for each in talk.messages))
        refused = [each for each in talk.messages if each["type"] == "error"]
        await talk.until(lambda: all(talk.results(str(number)) for number in range(100)))

    assert [each["id"] for each in refused] == ["100"]
    assert "100 operations" in refused[0]["payload"][0]["message"]


async def test_hostile_documents_end_with_an_error_and_the_socket_goes_on(lamps: Platform) -> None:
    documents = [
        "subscription { ...A } fragment A on Subscription { ...A }",
        "subscription " + "{ a" * 1000 + "}" * 1000,
        "subscription { lampCollection { edges { node { id } } } } #" + "x" * 300_000,
        "subscription { lampChanges { node " + "{ bulbCollection { edges { node { lamp " * 15 + "{ id }" + "} } } } " * 15 + "} }",
    ]  # fmt: skip
    async with admitted(lamps) as talk:
        for number, document in enumerate(documents):
            await talk.subscribe(str(number), document)
            await talk.until(lambda number=number: bool(talk.of(str(number))))  # type: ignore[misc]  # a default binds the loop's value
        await talk.subscribe("last", "{ __typename }")
        await talk.until(lambda: len(talk.of("last")) == 2)

    assert [talk.of(str(number))[0]["type"] for number in range(len(documents))] == ["error"] * len(documents)


async def test_the_method_among_edges_is_not_open_to_clients(lamps: Platform) -> None:
    async with aiohttp.ClientSession(headers={"apikey": lamps.values["ANON_KEY"]}) as session:
        for path in ("", "/plan", "/rows"):
            async with session.request(
                "SUBSCRIBE", f"{lamps.url}/graphql/v1{path}", json={"query": LAMPS}
            ) as answer:
                assert answer.status in (404, 405)


def _are(found: Callable[[], object], expected: object) -> bool:
    return found() == expected


def _lasts(talk: Talk, number: int) -> list[list[str]]:
    """Give the ids in the last result of each query."""
    return [ids(talk.results(f"q{n}")[-1]) for n in range(number)]


def _metric(running_platform: Platform, name: str) -> float:
    lines = running_platform.metrics()[1].decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((name + "{", name + " ")))
