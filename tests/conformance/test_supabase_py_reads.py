"""The Python client: select, counts, order, pages, related rows, and the shapes of an answer."""

from typing import Any

import pytest
from postgrest import CountMethod

from tests.conformance.callers import Caller

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]


def projects(db: Caller, *columns: str, **options: Any) -> Any:
    """Begin a query of the four projects."""
    return db.table("projects").select(*columns, **options).lte("id", 4)


async def ids(db: Caller, query: Any) -> list[int]:
    return [row["id"] for row in await db.rows(query)]


async def test_select_takes_columns_aliases_casts_and_members(db: Caller) -> None:
    found = await db.rows(
        projects(db, "id", "title:name", "budget::text, m:meta->depth->>m", "started").eq("id", 1)
    )
    all_columns = await db.rows(db.table("clients").select().order("id"))

    assert found == [{"id": 1, "title": "Delta", "budget": "100.50", "m": "12", "started": "2026-01-05"}]
    assert all_columns == [{"id": 1, "name": "Nile"}, {"id": 2, "name": "Rhine"}]


async def test_names_with_blanks_and_commas(db: Caller) -> None:
    found = await db.rows(
        db.table("odd things").select('"the key"', '"a,b(c)"', "select").eq("the key", 1).order("the key")
    )

    assert found == [{"the key": 1, "a,b(c)": "one, (1)", "select": "first"}]


async def test_order_goes_both_ways_with_nulls_at_both_ends(db: Caller) -> None:
    assert await ids(db, projects(db, "id").order("name")) == [1, 3, 4, 2]
    assert await ids(db, projects(db, "id").order("name", desc=True)) == [2, 4, 3, 1]
    assert await ids(db, projects(db, "id").order("budget", nullsfirst=True)) == [3, 4, 2, 1]
    assert await ids(db, projects(db, "id").order("budget", desc=True, nullsfirst=False)) == [1, 2, 4, 3]
    assert await ids(db, projects(db, "id").order("client_id").order("budget")) == [2, 1, 3, 4]
    assert await ids(db, projects(db, "id", "clients()").order("clients(name)", desc=True).limit(2)) == [4, 3]


async def test_limit_offset_and_range(db: Caller) -> None:
    assert await ids(db, projects(db, "id").order("id").limit(2)) == [1, 2]
    assert await ids(db, projects(db, "id").order("id").offset(3)) == [4]
    assert await ids(db, projects(db, "id").order("id").range(1, 2)) == [2, 3]
    assert len(await db.rows(db.table("numbers").select("n"))) == 1000
    assert len(await db.rows(db.table("numbers").select("n").range(1000, 1999))) == 500


async def test_counts_of_all_kinds(db: Caller) -> None:
    page = await db.run(projects(db, "id", count=CountMethod.exact).order("id").limit(1))
    counted = [
        await db.run(db.table("numbers").select("*", count=count, head=head))
        for count in CountMethod
        for head in (True, False)
    ]
    plain = await db.run(projects(db, "id", head=True))

    assert (page.count, page.data) == (4, [{"id": 1}])
    assert [one.count for one in counted] == [1500] * 6
    assert [len(one.data) for one in counted] == [0, 1000] * 3
    assert (plain.count, plain.data) == (None, [])


async def test_related_rows_are_embedded_ordered_limited_and_paged(db: Caller) -> None:
    def titles(query: Any) -> Any:
        return query.eq("id", 1)

    both = await db.rows(
        titles(projects(db, "name", "clients(name)", "tasks(title)").order("title", foreign_table="tasks"))
    )
    limited = await db.rows(
        titles(
            projects(db, "tasks(title)")
            .order("title", foreign_table="tasks", desc=True)
            .limit(1, foreign_table="tasks")
        )
    )
    paged = await db.rows(
        titles(
            projects(db, "tasks(title)")
            .order("title", foreign_table="tasks")
            .range(1, 1, foreign_table="tasks")
        )
    )
    inner = await db.rows(
        db.table("clients").select("name", "projects!inner(name)").eq("projects.name", "Falls")
    )

    assert both == [
        {
            "name": "Delta",
            "clients": {"name": "Nile"},
            "tasks": [{"title": "dredge"}, {"title": "survey"}],
        }
    ]
    assert limited == paged == [{"tasks": [{"title": "survey"}]}]
    assert inner == [{"name": "Rhine", "projects": [{"name": "Falls"}]}]


async def test_single_gives_one_object_or_an_error(db: Caller) -> None:
    one = await db.run(projects(db, "name", count=CountMethod.exact).eq("id", 1).single())
    none = await db.refusal(projects(db, "name").eq("id", -1).single())

    assert (one.data, one.count) == ({"name": "Delta"}, 1)
    assert (none.code, none.details) == ("PGRST116", "The result contains 0 rows")


async def test_maybe_single_gives_one_object_none_or_an_error(db: Caller) -> None:
    assert (await db.run(projects(db, "name").eq("id", 1).maybe_single())).data == {"name": "Delta"}
    assert await db.run(projects(db, "name").eq("id", -1).maybe_single()) is None
    assert (await db.refusal(projects(db, "name").maybe_single())).code == "406"


async def test_csv_of_rows(db: Caller) -> None:
    found = await db.rows(db.table("odd things").select('"the key",text:"a,b(c)"').order("the key").csv())

    assert found == 'the key,text\n1,"one, (1)"\n2,two'


async def test_nulls_are_stripped_from_rows_and_from_one_object(db: Caller) -> None:
    many = await db.rows(
        projects(db, "name", "budget", "clients(name)").gte("id", 3).order("id").strip_nulls()
    )
    one = await db.rows(projects(db, "name", "budget").eq("id", 3).strip_nulls().single())

    assert many == [{"name": "Falls", "clients": {"name": "Rhine"}}, {"name": "Lock", "budget": 7}]
    assert one == {"name": "Falls"}
    with pytest.raises(ValueError, match="cannot be used with csv"):
        projects(db, "name").strip_nulls().csv()


async def test_a_plan_as_text_and_as_json_with_every_option(db: Caller) -> None:
    text = await db.run(projects(db, "name").explain())
    full = await db.run(
        projects(db, "name").explain(
            analyze=True, verbose=True, settings=True, buffers=True, wal=True, format="text"
        )
    )
    (plan,) = await db.rows(projects(db, "name").explain(verbose=True, format="json"))

    assert text.startswith("Aggregate")
    assert "actual time=" in full
    assert "Output: " in full
    assert "Output" in plan["Plan"]
    assert "Actual Rows" not in plan["Plan"]
