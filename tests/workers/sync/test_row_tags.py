"""Tags of the rows of shapes: those of REST's GET under the same identity, and `If-Match` of a write by key takes them."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
import pytest

from schemas.http import header
from schemas.settings.tree import Api
from tests.workers.database.introspection_fixtures import catalog_of
from tests.workers.rest.rest_pool import RestPool
from tests.workers.sync.sync_pool import ALICE, BOB, ShapeClient, SyncPoolOfTests, user
from workers.database.connection_pool.pool import ConnectionPool
from workers.rest.state import RestState
from workers.sync import reading

pytestmark = pytest.mark.process_group("sync")

_COLUMNS = (
    "id bigint primary key, owner uuid, title text, n numeric, done bool, at timestamptz, lasts interval, days daterange[],"
    " doc jsonb, raw bytea, f float8, hidden int default 1"
)
_ROW = r"""'{owner}', e'"\\ü\n/', 1.50, true, now(), '1 day 02:00:00.5', '{{"[2026-01-01,2026-02-01)"}}', '{{"a": [1]}}', '\x00ff', 0.1"""


@dataclass
class _Areas:
    """A table of Alice and Bob in both areas. The role has a time zone of its own, in which REST writes moments."""

    sync: SyncPoolOfTests
    rest: RestPool
    table: str

    async def tag(self, id: int, select: str) -> str:
        """Return the first half of the tag of REST's GET of a row."""
        answer = await self.rest.send("GET", f"/{self.table}?id=eq.{id}&select={select}", caller=user())
        assert json.loads(answer.body), answer
        return (header(answer.headers, "etag") or "").partition("-")[0] + '"'

    async def write(self, id: int, select: str, tag: str, **values: object) -> int:
        """Return the status of a write by key under a condition."""
        address = f"/{self.table}?id=eq.{id}&select={select}"
        return (await self.rest.send("PATCH", address, values, caller=user(), if_match=tag)).status


@pytest.fixture
async def areas(sync_pool: SyncPoolOfTests, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[_Areas]:
    table = await sync_pool.table(_COLUMNS, "owner = auth.uid()")
    await sync_pool.sql(
        f"create policy w on {table} for update using (owner = auth.uid()); grant update on {table} to authenticated;"
        f" insert into {table} select n, {_ROW.format(owner=ALICE)} from generate_series(1, 4) as n;"
        f" insert into {table} values (5, {_ROW.format(owner=BOB)}); alter role authenticated set timezone = 'Asia/Tokyo'"
    )
    try:
        url = sync_pool.replication.values_url
        catalog = await catalog_of(url, ["public"])
        settings = catalog.roles["authenticated"].settings
        assert settings
        monkeypatch.setattr(
            sync_pool.service.registry.definitions,
            "_role_settings",
            lambda role: catalog.roles[role].settings,
        )
        pool = await ConnectionPool.open(url, 2)
        api = Api()
        yield _Areas(sync_pool, RestPool(pool, RestState(api, catalog), api), table)
        await pool.close()
    finally:
        await sync_pool.sql("alter role authenticated reset timezone")


def _tags(client: ShapeClient) -> dict[str, str]:
    """Return the newest tag of each row that a client got, by its id."""
    return {
        str(one["value"]["id"]): one["headers"]["etag"] for one in client.messages if "etag" in one["headers"]
    }


async def test_a_row_has_the_tag_of_rest_in_the_first_rows_in_changes_and_in_subsets(
    areas: _Areas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE", 3)
    monkeypatch.setattr(
        reading, "_FETCH", msgspec.structs.replace(reading._FETCH, text="fetch 3 from hw_rows")
    )
    monkeypatch.setattr(
        reading, "_FETCH_JSON", msgspec.structs.replace(reading._FETCH_JSON, text="fetch 3 from hw_json")
    )
    whole = areas.sync.client(areas.table, user(), etags="true")
    part = areas.sync.client(areas.table, user(), columns="title,id", etags="true")
    plain = areas.sync.client(areas.table, user())
    await whole.until([1, 2, 3, 4])
    await part.until([1, 2, 3, 4])
    await plain.until([1, 2, 3, 4])
    query = {"table": areas.table, "columns": "id,title", "etags": "true", "offset": "-1"}
    query |= {"subset__where": "id > 2", "subset__order_by": "title", "subset__limit": "1"}
    subset = json.loads((await areas.sync.ask(query, user())).body)["data"]

    expected = {str(id): await areas.tag(id, "*") for id in range(1, 5)}
    expected_part = {str(id): await areas.tag(id, "id,title") for id in range(1, 5)}
    assert (_tags(whole), _tags(part), _tags(plain)) == (expected, expected_part, {})
    assert {one["value"]["id"]: one["headers"]["etag"] for one in subset} == {"3": expected_part["3"]}

    await areas.sync.sql(f"update {areas.table} set title = 'new' where id = 2")
    for client in (whole, part, plain):
        await client.until([1, 2, 3, 4])
        while "new" not in [row["title"] for row in client.rows.values()]:
            await client.read()
    assert _tags(whole)["2"] == _tags(plain)["2"] == await areas.tag(2, "*") != expected["2"]
    assert _tags(part)["2"] == await areas.tag(2, "id,title")


async def test_a_write_by_key_holds_for_the_version_that_the_shape_had(areas: _Areas) -> None:
    whole = areas.sync.client(areas.table, user(), etags="true")
    part = areas.sync.client(areas.table, user(), columns="id,title", etags="true")
    await whole.until([1, 2, 3, 4])
    await part.until([1, 2, 3, 4])
    known, known_part = _tags(whole)["1"], _tags(part)["1"]

    await areas.sync.sql(f"update {areas.table} set hidden = 2 where id = 1")

    assert await areas.write(1, "*", known, done=False) == 412
    assert await areas.write(1, "id,title", known_part, done=False) == 204
    assert await areas.write(1, "id,title", known_part, title="mine") == 204
    assert await areas.write(1, "id,title", known_part, title="too late") == 412
    while (late := _tags(part)["1"]) == known_part:
        await part.read()
    assert await areas.write(1, "id,title", late, title="after reading") == 204


async def test_a_shape_without_the_parameter_is_another_one_and_a_domain_of_its_own_json_is_refused(
    areas: _Areas,
) -> None:
    domain = f"d_{areas.table}"
    await areas.sync.sql(
        f"create domain {domain} as text; create function shown(value {domain}) returns json language sql immutable as"
        f" $$ select to_json(upper(value::text)) $$; create cast ({domain} as json) with function shown({domain}) as implicit"
    )
    table = await areas.sync.table(f"id int primary key, name {domain}", "true")
    refused = await areas.sync.ask({"table": table, "etags": "true", "offset": "-1"}, user())
    client = areas.sync.client(table, user())
    await client.read()
    await areas.sync.sql(f"insert into {table} values (1, 'a')")
    await client.until([1])

    assert (refused.status, "domain" in refused.body.decode()) == (400, True)
    assert _tags(client) == {}
