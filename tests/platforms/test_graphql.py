"""GraphQL through a whole platform: the gateway, the pool, a migration while it serves, and what hostile callers send."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.platform import Platform
from tests.platforms.conftest import token

SCHEMA = """
create table planets(id int primary key, name text not null, owner uuid);
create table moons(id int primary key, planet_id int not null references planets, name text not null);
alter table moons enable row level security;
create policy all_but_hidden on moons for select using (name <> 'hidden');
insert into planets select n, 'planet ' || n from generate_series(1, 50) n;
insert into moons select n, (n % 50) + 1, case when n = 1 then 'hidden' else 'moon ' || n end from generate_series(1, 100) n;
comment on schema public is '@graphql({"inflect_names": true})';
"""


@pytest.fixture(scope="module")
def sky(running_platform: Platform) -> Iterator[Platform]:
    running_platform.psql(SCHEMA)
    wait_for(running_platform, "moonsCollection")
    yield running_platform
    running_platform.psql("drop table moons, planets; comment on schema public is null")


def send(
    running_platform: Platform,
    body: bytes,
    path: str = "",
    headers: dict[str, str] | None = None,
    method: str = "POST",
) -> tuple[int, bytes]:
    own = {
        "apikey": running_platform.values["ANON_KEY"],
        "content-type": "application/json",
        **(headers or {}),
    }
    asked = urllib.request.Request(
        f"{running_platform.url}/graphql/v1{path}", body if method == "POST" else None, own, method=method
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def ask(running_platform: Platform, query: str, variables: object = None, **headers: str) -> Any:
    status, body = send(
        running_platform, json.dumps({"query": query, "variables": variables}).encode(), headers=headers
    )
    assert status == 200, (status, body)
    return json.loads(body)


def wait_for(running_platform: Platform, field: str) -> None:
    """Wait until the interface knows a field."""
    deadline = time.monotonic() + 60
    while "errors" in ask(running_platform, f"{{ {field}(first: 1) {{ __typename }} }}"):
        assert time.monotonic() < deadline, f"{field} did not appear"
        time.sleep(0.05)  # between two questions; the deadline ends it


def test_rows_and_their_rows_come_as_the_caller_may_see_them(sky: Platform) -> None:
    query = "{ planetsCollection(first: 2) { edges { node { name moonsCollection { edges { node { name } } } } } } }"
    mine = ask(sky, query, authorization=f"Bearer {token(sky, sub='ada')}")
    all_of_them = ask(sky, query, apikey=sky.values["SERVICE_ROLE_KEY"])

    def moons(answer: Any, place: int) -> list[str]:
        edges = answer["data"]["planetsCollection"]["edges"][place]["node"]["moonsCollection"]["edges"]
        return [edge["node"]["name"] for edge in edges]

    assert moons(all_of_them, 1) == ["hidden", "moon 51"]
    assert moons(mine, 1) == ["moon 51"]


def test_a_migration_is_seen_by_the_next_request(sky: Platform) -> None:
    query = "{ cometsCollection { edges { node { id } } } }"
    sky.psql("create table comets(id int primary key)")
    wait_for(sky, "cometsCollection")
    sky.psql("drop table comets")
    gone = ask(sky, query)

    assert gone["errors"] == [{"message": 'Unknown field "cometsCollection" on type Query'}]


def test_tokens_and_keys_that_do_not_hold_are_refused_in_the_shape_of_the_area(sky: Platform) -> None:
    expired = {"authorization": f"Bearer {token(sky, exp=int(time.time()) - 60)}"}
    for headers in (expired, {"apikey": ""}, {"apikey": "wrong"}):
        status, body = send(sky, b'{"query":"{__typename}"}', headers=headers)

        assert status == 401, headers
        assert set(json.loads(body)) >= {"errors"} or "message" in json.loads(body)


def test_a_browser_gets_the_page_and_a_get_gets_data(sky: Platform) -> None:
    page = send(sky, b"", headers={"accept": "text/html"}, method="GET")
    data = send(sky, b"", "?query=%7B__typename%7D", method="GET")

    assert page[0] == 200
    assert page[1].startswith(b"<!doctype html>")
    assert data == (200, b'{"data":{"__typename":"Query"}}')


HOSTILE = {
    "a circle": "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }",
    "a thousand levels": "{ a" * 1000 + "}" * 1000,
    "a thousand inline fragments": "{" + "... {" * 1000 + "a" + "}" * 1001,
    "ten thousand aliases": "{" + " ".join(f"a{n}: planetsCollection {{ __typename }}" for n in range(10_000)) + "}",
    "many root fields": "{" + " ".join(f"a{n}: __typename" for n in range(300)) + "}",
    "a megabyte": "{ planetsCollection { __typename } } #" + "x" * (1 << 20),
    "doubling fragments": "{ ...F0 } "
    + " ".join(f"fragment F{n} on Query {{ a: node(nodeId: 1) {{ ...F{n + 1} }} b: node(nodeId: 1) {{ ...F{n + 1} }} }}" for n in range(28)),
    "types of types": "{ __schema { types { " + "fields { type { " * 6 + "name" + " } }" * 6 + " } } }",
    "an endless text": '{ a(x: "' + "\\" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_documents_are_refused_soon_and_the_pool_goes_on(sky: Platform, query: str) -> None:
    answer = ask(sky, query)

    assert answer["data"] is None
    assert 0 < len(answer["errors"]) <= 1
    assert len(json.dumps(answer)) < 1000
    assert ask(sky, "{ __typename }") == {"data": {"__typename": "Query"}}


@pytest.mark.parametrize(
    "variables",
    [
        {"f": {"and": [{"id": {"eq": 1}}] * 5000}},
        {"f": {"id": {"in": list(range(100_000))}}},
        {"f": {"name": {"eq": "x" * 1_000_000}}},
        {"f": {"name": {"eq": "\x00"}}},
        {"f": {"id": {"eq": 10**40}}},
        {"f": {"id": "x"}},
        {"f": 1},
    ],
)
def test_hostile_variables_are_answered_and_the_pool_goes_on(sky: Platform, variables: object) -> None:
    status, body = send(
        sky,
        json.dumps(
            {
                "query": "query($f: PlanetsFilter) { planetsCollection(filter: $f) { edges { cursor } } }",
                "variables": variables,
            }
        ).encode(),
    )

    assert status == 200, body[:500]
    assert ask(sky, "{ __typename }") == {"data": {"__typename": "Query"}}


def test_filters_inside_filters_end_somewhere(sky: Platform) -> None:
    nested: object = {"id": {"eq": 1}}
    for _ in range(900):
        nested = {"not": nested}
    query = "query($f: PlanetsFilter) { planetsCollection(filter: $f) { edges { cursor } } }"

    assert ask(sky, query, {"f": nested})["errors"] == [{"message": "The variables are nested too deeply"}]


@pytest.mark.parametrize(
    "body", [b"[]", b'[{"query":"{__typename}"}]', b"{", b"\x00", b"[" * 100_000, b"null"]
)
def test_bodies_that_are_no_request_are_a_400(sky: Platform, body: bytes) -> None:
    status, answer = send(sky, body)

    assert status == 400
    assert json.loads(answer)["errors"]


USUAL = {"Expect": "nothing-special"}
"""A header that makes a request take the usual way through the gateway (services/gateway/direct/exchange.py)."""


@pytest.mark.parametrize(
    ("method", "path", "headers", "body"),
    [
        (
            "POST",
            "",
            {},
            {"query": "query($n: Int!) { planetsByPk(id: $n) { id name } }", "variables": {"n": 7}},
        ),
        ("POST", "/", {"Accept": "application/graphql-response+json"}, {"query": "{ nothing }"}),
        ("POST", "", {"apikey": "wrong"}, {"query": "{ __typename }"}),
        ("POST", "", {"Authorization": "Bearer wrong"}, {"query": "{ __typename }"}),
        ("POST", "", {}, {"query": 7}),
        ("POST", "/below", {}, {"query": "{ __typename }"}),
        ("GET", "?query=%7B__typename%7D", {}, None),
        ("GET", "?query=mutation%7B__typename%7D", {}, None),
        ("GET", "", {"Upgrade": "websocket"}, None),
        ("GET", "", {"Accept": "text/html"}, None),
        ("PUT", "", {}, {"query": "{ __typename }"}),
        ("SUBSCRIBE", "", {}, {"query": "{ __typename }"}),
    ],
)
def test_a_connection_that_stays_open_gets_the_same_answers(
    sky: Platform, method: str, path: str, headers: dict[str, str], body: object
) -> None:
    own = {
        "apikey": sky.values["ANON_KEY"],
        "x-request-id": "r-1",
        "content-type": "application/json",
        **headers,
    }
    data = None if body is None else json.dumps(body).encode()
    answers = []
    connection = http.client.HTTPConnection("127.0.0.1", sky.port, timeout=60)
    for further in (USUAL, {}, {}):
        connection.request(method, f"/graphql/v1{path}", data, {**own, **further})
        with connection.getresponse() as answer:
            pairs = sorted((name.lower(), value) for name, value in answer.getheaders())
            without_time = [pair for pair in pairs if pair[0] != "date"]
            answers.append((answer.status, without_time, answer.read()))
    connection.close()

    assert answers[1] == answers[0]
    assert answers[2] == answers[0]
