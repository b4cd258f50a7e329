"""Indexes that statements lack: found in plans, tried on a copy of rows that is gone afterwards, while the table is written to."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.workers.management.conftest import Client
from workers.management.areas.index_trials.candidates import IndexCandidate, candidates_of
from workers.management.areas.index_trials.copied_names import with_copied_table


@pytest.fixture
async def orders(admin: asyncpg.Connection) -> AsyncIterator[str]:
    """A table of role postgres with 20000 rows and an index on its key, and a view over it; dropped at the end."""
    name = f"orders_{uuid.uuid4().hex[:12]}"
    await admin.execute(
        f"set role postgres; create table public.{name} (id bigint primary key, buyer int, placed timestamptz, note text,"
        f" doubled int generated always as (buyer * 2) stored) with (autovacuum_enabled = off);"
        f" insert into public.{name} select n, n % 1000, now() - n * interval '1 minute', repeat('x', 60) from generate_series(1, 20000) n;"
        f" analyze public.{name}; create view public.{name}_view as select * from public.{name} where note <> ''; reset role"
    )
    yield name
    await admin.execute(f"reset role; drop table public.{name} cascade")


async def _run_by_postgres(admin: asyncpg.Connection, text: str, *values: object) -> None:
    """Run a statement as role postgres, so that it is counted as one of the project."""
    await admin.execute("set role postgres")
    await admin.fetch(text, *values)
    await admin.execute("reset role")


async def _proposal(client: Client, table: str) -> dict[str, Any]:
    found = await client.run("statistics.index_proposals")
    [proposal] = [row for row in found["proposals"] if row["table"] == table]
    return dict(proposal)


async def test_an_index_that_statements_lack_is_found_and_tried(
    developer: Client, admin: asyncpg.Connection, orders: str
) -> None:
    text = f"select id from public.{orders} where placed > $2 and buyer = $1"
    for buyer in (7, 8):
        await _run_by_postgres(admin, text, buyer, None)

    proposal = await _proposal(developer, orders)
    asked = {"schema": "public", "table": orders, "columns": proposal["columns"]}
    trial = await developer.run("statistics.try_index", **asked, statement=proposal["statements"][0])

    assert proposal["columns"] == ["buyer", "placed"]
    assert proposal["definition"] == f"create index concurrently on public.{orders} (buyer, placed);"
    assert (proposal["calls"], proposal["rows"], proposal["text"]) == (2, 20000, text)
    assert trial["is_used"]
    assert trial["cost_after"] < trial["cost_before"] / 5
    assert trial["gain"] == pytest.approx(1 - trial["cost_after"] / trial["cost_before"])
    assert (trial["sampled"], trial["rows"]) == (1, 20000)
    assert "headwater_trial" in str(trial["after"])
    assert "headwater_trial" not in str(trial["before"])
    await admin.execute(f"create index of_trial on public.{orders} (buyer, placed)")
    real = await admin.fetchval("select pg_relation_size('public.of_trial')")
    assert real / 2 < trial["index_bytes"] < real * 2
    assert not [
        row
        for row in (await developer.run("statistics.index_proposals"))["proposals"]
        if row["table"] == orders
    ]


async def test_a_trial_leaves_nothing_and_waits_for_no_writer(
    developer: Client, admin: asyncpg.Connection, orders: str, visitor: Client
) -> None:
    asked = {"schema": "public", "table": orders, "columns": ["buyer"]}
    writer = await asyncpg.connect(visitor.superuser_url)
    try:
        async with writer.transaction():
            await writer.execute(f"update public.{orders} set note = 'y' where id = 1")
            trial = await developer.run("statistics.try_index", **asked)
            await writer.execute(f"insert into public.{orders} (id, buyer) values (20001, 1)")
        async with writer.transaction():
            await writer.execute(f"lock table public.{orders} in access exclusive mode")
            locked = await developer.refused("statistics.try_index", **asked)
    finally:
        await writer.close()

    assert trial["is_used"]
    assert locked == (409, "no_trial")
    left = await admin.fetch(
        "select oid from pg_class where relname = 'headwater_trial' or relname = $1", orders
    )
    assert len(left) == 1


async def test_of_a_large_table_a_sample_is_copied(
    developer: Client, admin: asyncpg.Connection, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.management.areas.index_trials.trial.MOST_COPIED_BYTES", 512 * 1024)

    trial = await developer.run("statistics.try_index", schema="public", table=orders, columns=["buyer"])

    assert 0.05 < trial["sampled"] < 0.5
    assert trial["rows"] == 20000
    assert trial["is_used"]
    await admin.execute(f"create index of_sample on public.{orders} (buyer)")
    real = await admin.fetchval("select pg_relation_size('public.of_sample')")
    assert real / 3 < trial["index_bytes"] < real * 3


async def test_what_no_trial_can_show_is_said(
    developer: Client, reader: Client, admin: asyncpg.Connection, orders: str
) -> None:
    asked = {"schema": "public", "table": orders, "columns": ["buyer"]}
    await _run_by_postgres(admin, f"select id from public.{orders}_view where buyer = $1", 3)
    proposal = await _proposal(developer, orders)

    through_view = await developer.error("statistics.try_index", **asked, statement=proposal["statements"][0])
    unused = await developer.run("statistics.try_index", **(asked | {"columns": ["doubled", "buyer", "id"]}))

    assert proposal["columns"] == ["buyer"]
    assert (through_view["code"], "view" in through_view["message"]) == ("no_trial", True)
    assert unused["is_used"]
    assert await developer.refused("statistics.try_index", **(asked | {"columns": ["id"]})) == (
        404,
        "not_found",
    )
    assert await developer.refused(
        "statistics.try_index", **(asked | {"table": "users", "schema": "auth"})
    ) == (404, "not_found")
    assert await developer.refused("statistics.try_index", **asked, statement="1") == (404, "not_found")
    assert await developer.refused("statistics.try_index", **(asked | {"columns": []})) == (
        400,
        "invalid_arguments",
    )
    for operation, arguments in (("statistics.try_index", asked), ("statistics.index_proposals", {})):
        assert await reader.refused(operation, **arguments) == (403, "no_right")


def _scan(condition: str, **others: object) -> dict[str, Any]:
    scan = {
        "Node Type": "Seq Scan",
        "Schema": "public",
        "Relation Name": "notes",
        "Alias": "n",
        "Filter": condition,
    }
    return scan | others


@pytest.mark.parametrize(
    ("plan", "columns"),
    [
        (_scan("(n.user_id = $1)"), ("user_id",)),
        (_scan("((n.kind)::text = $1)"), ("kind",)),
        (_scan("(($1 <= n.at) AND (n.user_id = ANY ($2)))"), ("user_id", "at")),
        (_scan('((n."User Id" = $1) AND (n.gone IS NULL))'), ("User Id", "gone")),
        (_scan("((n.a = $1) OR (n.b = $2))"), None),
        (_scan("(lower(n.email) = $1)"), None),
        (_scan("(n.a <> $1)"), None),
        (_scan("(other.a = $1)"), None),
        ({"Node Type": "Sort", "Sort Key": ["n.at DESC"], "Plans": [_scan("(n.a = $1)")]}, ("a", "at")),
        (
            {"Node Type": "Hash Join", "Hash Cond": "(n.owner = u.id)", "Plans": [_scan("(n.done)")]},
            ("owner",),
        ),
        (_scan("(n.a = $1)") | {"Node Type": "Index Scan"}, None),
    ],
)
def test_columns_come_from_the_conditions_of_what_is_read_whole(
    plan: dict[str, Any], columns: tuple[str, ...] | None
) -> None:
    expected = [] if columns is None else [IndexCandidate("public", "notes", columns)]

    assert candidates_of(plan) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select "public"."t".a from public.t where t.a = 1', 'select pg_temp."t".a from pg_temp."t" where t.a = 1'),
        ("select public.t(1), 'public.t' from PUBLIC . T", "select public.t(1), 'public.t' from pg_temp.\"t\""),
        ("insert into public.t (a) values ($1)", 'insert into pg_temp."t" (a) values ($1)'),
        ("select x.public.t, public.tt, $q$public.t$q$ -- public.t", "select x.public.t, public.tt, $q$public.t$q$ -- public.t"),
    ],
)  # fmt: skip
def test_a_statement_is_led_to_the_copy(text: str, expected: str) -> None:
    assert with_copied_table(text, "public", "t") == expected
