"""The Python client: functions by POST, GET and HEAD, with every kind of argument and of result."""

from typing import Any

import pytest
from postgrest import CountMethod

from tests.conformance.callers import Caller

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

CALLS: list[tuple[str, dict[str, Any], Any]] = [
    ("add_them", {"a": 2, "b": 3}, 5),
    ("total", {"numbers": [1, 2, 39]}, 42),
    ("total", {"numbers": []}, None),
    ("joined", {"words": ["a,b", 'c "d"', "", "ü"]}, 'a,b|c "d"||ü'),
    ("member", {"document": {"a": {"b": [1, None]}}, "key": "a"}, {"b": [1, None]}),
    ("greeting", {"name": "Ada & Bob?"}, "hello Ada & Bob?"),
    ("greeting", {}, "hello world"),
    ("split_in_two", {"a": 7}, {"half": 3, "rest": 4}),
    ("count_to", {"n": 3}, [1, 2, 3]),
    ("squares", {"n": 2}, [{"root": 1, "square": 1}, {"root": 2, "square": 4}]),
]


@pytest.mark.parametrize("get", [False, True], ids=["POST", "GET"])
@pytest.mark.parametrize(("name", "arguments", "expected"), CALLS)
async def test_arguments_and_results(
    db: Caller, name: str, arguments: dict[str, Any], expected: Any, get: bool
) -> None:
    assert await db.rows(db.rpc(name, arguments, get=get)) == expected


@pytest.mark.parametrize("get", [False, True], ids=["POST", "GET"])
async def test_rows_of_a_function_are_selected_filtered_ordered_and_paged(db: Caller, get: bool) -> None:
    def call(**options: Any) -> Any:
        return db.rpc("projects_of", {"client": 1}, get=get, **options)

    counted = await db.run(call(count=CountMethod.exact).select("name").order("name", desc=True).limit(1))
    filtered = await db.rows(call().select("name", "clients(name)").lt("budget", 50).or_("id.eq.1,id.eq.2"))
    paged = await db.rows(call().select("name").order("name").range(1, 5))
    one = await db.rows(call().select("name").eq("id", 2).single())
    maybe = await db.run(call().eq("id", 4).maybe_single())
    csv = await db.rows(call().select("id", "name").order("id").csv())
    stripped = await db.rows(
        db.rpc("projects_of", {"client": 2}, get=get).select("name", "budget").strip_nulls()
    )

    assert (counted.data, counted.count) == ([{"name": "Source"}], 2)
    assert filtered == [{"name": "Source", "clients": {"name": "Nile"}}]
    assert paged == [{"name": "Source"}]
    assert one == {"name": "Source"}
    assert maybe is None
    assert csv == "id,name\n1,Delta\n2,Source"
    assert stripped == [{"name": "Falls"}]


async def test_a_variadic_function_takes_a_list(db: Caller) -> None:
    assert await db.rows(db.rpc("largest", {"numbers": [3, 9, 4]})) == 9


async def test_head_gives_the_count_alone(db: Caller) -> None:
    answer = await db.run(
        db.rpc("projects_of", {"client": 1}, head=True, count=CountMethod.exact).eq("id", 1)
    )

    assert (answer.data, answer.count) == ([], 1)


@pytest.mark.usefixtures("parcels")
async def test_a_function_without_a_result_writes_by_post_only(db: Caller) -> None:
    done = await db.run(db.rpc("add_parcel", {"parcel": "from a function"}))
    refused = await db.refusal(db.rpc("add_parcel", {"parcel": "x"}, get=True))

    assert done.data == []
    assert refused.code == "25006"
    assert await db.rows(db.table("parcels").select("name")) == [{"name": "from a function"}]


@pytest.mark.usefixtures("parcels")
async def test_max_affected_holds_for_functions_that_give_rows(db: Caller) -> None:
    await db.run(db.table("parcels").insert([{"name": "max 1"}, {"name": "max 2"}]))

    refused = await db.refusal(db.rpc("take_parcels", {"pattern": "max%"}).max_affected(1))
    taken = await db.rows(
        db.rpc("take_parcels", {"pattern": "max%"}).select("name").order("name").max_affected(2)
    )

    assert (refused.code, refused.details) == ("PGRST124", "The query affects 2 rows")
    assert taken == [{"name": "max 1"}, {"name": "max 2"}]
