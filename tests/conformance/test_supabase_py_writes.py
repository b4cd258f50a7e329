"""The Python client: insert, upsert, update and delete with all their options."""

from datetime import UTC, datetime
from typing import Any

import pytest
from postgrest import CountMethod
from postgrest.types import ReturnMethod

from tests.conformance.callers import Caller

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.usefixtures("parcels"),
    pytest.mark.process_group("clients"),
]


async def column(db: Caller, name: str) -> list[Any]:
    """Give a column of all parcels, by name."""
    return [row[name] for row in await db.rows(db.table("parcels").select(name).order("name"))]


async def test_insert_one_with_and_without_the_row_back(db: Caller) -> None:
    loud = await db.rows(db.table("parcels").insert({"name": "a", "weight": 3}))
    chosen = await db.rows(
        db.table("parcels").insert({"name": "b", "client_id": 2}).select("name", "clients(name)")
    )
    quiet = await db.run(db.table("parcels").insert({"name": "c"}, returning=ReturnMethod.minimal))

    assert [(row["name"], row["state"], row["weight"]) for row in loud] == [("a", "new", 3)]
    assert chosen == [{"name": "b", "clients": {"name": "Rhine"}}]
    assert (quiet.data, quiet.count) == ([], None)


async def test_insert_many_counted_and_dated(db: Caller) -> None:
    when = datetime(2026, 5, 1, 12, tzinfo=UTC)

    added = await db.run(
        db.table("parcels").insert(
            [{"name": "a", "made_at": when}, {"name": "b", "made_at": when}], count=CountMethod.exact
        )
    )

    assert added.count == 2
    assert [row["made_at"] for row in added.data] == ["2026-05-01T12:00:00+00:00"] * 2


async def test_members_left_out_become_null_or_their_default(db: Caller) -> None:
    mixed = [{"name": "a", "state": "old"}, {"name": "b"}]

    nulls = await db.rows(db.table("parcels").insert(mixed).select("state"))
    await db.run(db.table("parcels").delete().gte("id", 0))
    defaults = await db.rows(db.table("parcels").insert(mixed, default_to_null=False).select("state"))

    assert nulls == [{"state": "old"}, {"state": None}]
    assert defaults == [{"state": "old"}, {"state": "new"}]


async def test_insert_as_upsert_goes_by_the_primary_key(db: Caller) -> None:
    reading = {"station": "a", "hour": 1}
    await db.run(db.table("readings").insert({**reading, "level": 1}))

    merged = await db.rows(db.table("readings").insert({**reading, "level": 2}, upsert=True))

    assert merged == [{**reading, "level": 2}]


async def test_upsert_merges_or_ignores(db: Caller) -> None:
    await db.run(db.table("parcels").insert({"name": "a", "state": "old", "weight": 7}))
    both = [{"name": "a", "weight": 8}, {"name": "b", "weight": 9}]

    ignored = await db.run(
        db.table("parcels").upsert(both, on_conflict="name", ignore_duplicates=True, count=CountMethod.exact)
    )
    merged = await db.rows(
        db.table("parcels").upsert(both, on_conflict="name").select("name", "state", "weight")
    )
    keyed = await db.rows(db.table("readings").upsert({"station": "a", "hour": 1, "level": 3}))

    assert ([row["name"] for row in ignored.data], ignored.count) == (["b"], 1)
    assert merged == [{"name": "a", "state": "old", "weight": 8}, {"name": "b", "state": "new", "weight": 9}]
    assert keyed == [{"station": "a", "hour": 1, "level": 3}]


async def test_upsert_without_rows_back_takes_defaults(db: Caller) -> None:
    quiet = await db.run(
        db.table("parcels").upsert(
            [{"name": "a", "state": "old"}, {"name": "b"}],
            on_conflict="name",
            default_to_null=False,
            returning=ReturnMethod.minimal,
        )
    )

    assert quiet.data == []
    assert await column(db, "state") == ["old", "new"]


async def test_update_changes_what_the_filters_name(db: Caller) -> None:
    await db.run(db.table("parcels").insert([{"name": "a"}, {"name": "b"}, {"name": "c"}]))

    loud = await db.run(
        db.table("parcels").update({"weight": 2}, count=CountMethod.exact).in_("name", ["a", "b"])
    )
    chosen = await db.rows(
        db.table("parcels").update({"state": "sent"}).eq("name", "c").select("name", "state").single()
    )
    quiet = await db.run(
        db.table("parcels").update({"state": None}, returning=ReturnMethod.minimal).eq("name", "a")
    )

    assert (len(loud.data), loud.count) == (2, 2)
    assert chosen == {"name": "c", "state": "sent"}
    assert quiet.data == []
    assert await column(db, "weight") == [2, 2, 1]
    assert await column(db, "state") == [None, "new", "sent"]


async def test_delete_takes_what_the_filters_name(db: Caller) -> None:
    await db.run(db.table("parcels").insert([{"name": "a"}, {"name": "b"}, {"name": "c"}]))

    loud = await db.run(db.table("parcels").delete(count=CountMethod.exact).like("name", "a%"))
    chosen = await db.rows(db.table("parcels").delete().eq("name", "b").select("name"))
    quiet = await db.run(db.table("parcels").delete(returning=ReturnMethod.minimal).eq("name", "c"))

    assert ([row["name"] for row in loud.data], loud.count) == (["a"], 1)
    assert chosen == [{"name": "b"}]
    assert quiet.data == []
    assert await column(db, "name") == []


async def test_max_affected_stops_a_write_that_goes_further_and_undoes_it(db: Caller) -> None:
    await db.run(db.table("parcels").insert([{"name": "a"}, {"name": "b"}]))

    refused = [
        await db.refusal(query.gte("id", 0).max_affected(1))
        for query in (db.table("parcels").update({"weight": 4}), db.table("parcels").delete())
    ]
    kept = await column(db, "weight")
    gone = await db.rows(db.table("parcels").delete().gte("id", 0).max_affected(2))

    assert [(error.code, error.details) for error in refused] == [
        ("PGRST124", "The query affects 2 rows")
    ] * 2
    assert kept == [1, 1]
    assert len(gone) == 2
