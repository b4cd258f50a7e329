"""What goes beyond the standard grammar, on a real database: docs/rest-additions.md."""

import json

import pytest

from tests.workers.rest.rest_pool import RestPool, rows, user


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # a column against another
        ("bridges?select=name&id=eq(col).river_id", [{"name": "Bonn"}]),
        ("bridges?select=name&id=not.gt(col).river_id&order=id", [{"name": "Basel"}, {"name": "Bonn"}]),
        ("rivers?select=id&or=(name.eq(col).kind,id.eq.3)", [{"id": 3}]),
        ("rivers?select=name&name=like(col).name&id=eq.1", [{"name": "Nile"}]),
        ("rivers?select=name&id=lt(col).meta->>depth::int", []),
        ("rivers?select=name,bridges(name)&bridges.id=eq(col).river_id&id=eq.2", [{"name": "Rhine", "bridges": [{"name": "Bonn"}]}]),
        ("rivers?select=name&name=eq.gt(col).id", []),
        # casts
        ("rivers?select=name&km::text=like.6*&order=id", [{"name": "Nile"}, {"name": "Po"}]),
        ("bridges?select=name&built::text=eq.1949-11-12", [{"name": "Bonn"}]),
        ("rivers?select=name&or=(id::text.eq.1,km::numeric.gt.652.5)&order=id", [{"name": "Nile"}, {"name": "Rhine"}]),
        ("rivers?select=name&meta->source->>lake::varchar=eq.Victoria", [{"name": "Nile"}]),
        # parent and child in one tree
        ("rivers?select=name&or=(mouths(sea.like.Med*),km.lt.700)&order=id", [{"name": "Nile"}, {"name": "Po"}]),
        ("rivers?select=name&or=(bridges(name.eq.Bonn),mouths(sea.eq.Mediterranean))&order=id", [{"name": "Nile"}, {"name": "Rhine"}]),
        ("rivers?select=name&and=(not.bridges(id.gt.0))", [{"name": "Po"}]),
        ("rivers?select=name&and=(bridges(name.eq.Bonn,id.lt.0))", []),
        ("rivers?select=name&and=(bridges(or(name.eq.Bonn,id.lt.0)))", [{"name": "Rhine"}]),
        ("bridges?select=name&and=(rivers(mouths(sea.like.North*)))&order=id", [{"name": "Basel"}, {"name": "Bonn"}]),
        ("bridges?select=name,water:rivers(name)&and=(water(name.eq.Nile))", [{"name": "Qasr", "water": {"name": "Nile"}}]),
        ("bridges?select=name&and=(rivers!bridges_river_id_fkey(name.eq.Nile))", [{"name": "Qasr"}]),
        # distinct
        ("bridges?select=river_id&distinct=true&order=river_id", [{"river_id": 1}, {"river_id": 2}]),
        ("bridges?select=river_id,name&distinct=river_id&order=name", [{"river_id": 1, "name": "Qasr"}, {"river_id": 2, "name": "Basel"}]),
        ("bridges?select=river_id,name&distinct=river_id&order=river_id.desc,name.desc", [{"river_id": 2, "name": "Bonn"}, {"river_id": 1, "name": "Qasr"}]),
        ("bridges?select=rivers(name)&distinct=true&order=rivers(name)", None),
        ("rivers?select=name,bridges(river_id)&bridges.distinct=true&id=eq.2", [{"name": "Rhine", "bridges": [{"river_id": 2}]}]),
        # having, and aggregates of what differs
        ("bridges?select=river_id,count()&having=count().gt.1", [{"river_id": 2, "count": 2}]),
        ("bridges?select=river_id&having=count().eq.1", [{"river_id": 1}]),
        ("bridges?select=river_id,n:count()&having=or(count().eq.1,id.max().gte.2)&order=river_id", [{"river_id": 1, "n": 1}, {"river_id": 2, "n": 2}]),
        ("bridges?select=river_id&having=not.and(count().eq.1,id.min().gt.0)", [{"river_id": 2}]),
        ("bridges?select=rivers:river_id.count(distinct)", [{"rivers": 2}]),
        ("bridges?select=river_id.count(distinct)", [{"count": 2}]),
        ("bridges?select=river_id&having=built::text.max().like.19*&order=river_id", [{"river_id": 1}, {"river_id": 2}]),
    ],
)  # fmt: skip
async def test_additions_to_the_grammar_choose_rows(trial: RestPool, query: str, expected: object) -> None:
    answer = await trial.send("GET", f"/{query}")

    if expected is None:
        assert answer.status == 400
    else:
        assert rows(answer) == expected


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("rivers?id=in(col).km", "PGRST100"),
        ("rivers?id=is(col).km", "PGRST100"),
        ("rivers?name=fts(col).km", "42704"),  # a text search configuration named col
        ("rivers?id=gt(col).", "PGRST100"),
        ("rivers?id=gt(col).km or true", "42703"),
        ("rivers?id=gt(col).km)--", "PGRST100"),
        ("rivers?id=gt(col).nothing", "42703"),
        ("rivers?id::nothing=eq.1", "42704"),
        ("rivers?id::=eq.1", "PGRST100"),
        ("rivers?and=(nowhere(id.eq.1))", "PGRST200"),
        ("rivers?and=(bridges(id.eq.1)", "PGRST100"),
        ("rivers?and=(bridges())", "PGRST100"),
        ("rivers?distinct=id id", "42703"),
        ("rivers?distinct=id,", "PGRST100"),
        ("rivers?having=km.gt.3", "PGRST100"),
        ("rivers?having=count().gt", "PGRST100"),
        ("rivers?having=count()", "PGRST100"),
        ("rivers?select=*&having=count().gt.1&key=id", "PGRST100"),
        ("rivers?key=id", "PGRST100"),
    ],
)
async def test_additions_that_are_misused_are_refused_in_words(
    trial: RestPool, query: str, code: str
) -> None:
    answer = await trial.send("GET", f"/{query}", x_client_info="tests")

    assert answer.status == 400, answer
    body = json.loads(answer.body)
    assert body["code"] == code, body
    assert body["message"]


async def test_columns_may_have_the_names_of_additions(trial: RestPool) -> None:
    for name in ("distinct", "having", "key"):
        answer = await trial.send("GET", f"/rivers?{name}=eq.1", x_client_info="tests")

        assert json.loads(answer.body)["code"] == "42703", name  # a filter on a column that is not there


async def test_counts_follow_distinct_and_having(trial: RestPool) -> None:
    answer = await trial.send("GET", "/bridges?select=river_id&distinct=true&limit=1", prefer="count=exact")
    grouped = await trial.send("GET", "/bridges?select=river_id&having=count().gt.1", prefer="count=exact")

    assert dict(answer.headers)["content-range"] == "0-0/2"
    assert dict(grouped.headers)["content-range"] == "0-0/1"


async def test_having_needs_aggregates_to_be_enabled(rest_pool: RestPool) -> None:
    answer = await rest_pool.send(
        "GET", "/bridges?select=river_id&having=count().gt.1", x_client_info="tests"
    )

    assert json.loads(answer.body)["code"] == "PGRST123"


async def test_tests_of_related_rows_choose_rows_to_change(trial: RestPool) -> None:
    deleted = await trial.send(
        "DELETE",
        "/bridges?or=(rivers(name.eq.Nile),name.eq.Basel)&order=id&select=name",
        prefer="return=representation",
    )

    assert sorted(row["name"] for row in rows(deleted)) == ["Basel", "Qasr"]  # type: ignore[union-attr, index]  # a list


async def test_related_rows_are_tested_under_the_caller_s_policies(trial: RestPool) -> None:
    await trial.send("GET", "/secrets", caller=user("ada"))
    answer = await trial.send(
        "GET", "/rivers?select=name&and=(private(id.eq.1))", caller=user("ada"), x_client_info="tests"
    )

    assert json.loads(answer.body)["code"] == "PGRST200"  # no key ties them, so nothing can be asked


# --- PATCH with a body of many rows -----------------------------------------------------------------------------


async def test_each_object_changes_the_row_that_its_key_names(trial: RestPool) -> None:
    body = [{"id": 1, "km": 1}, {"id": 3, "km": 3}, {"id": 77, "km": 7}]

    answer = await trial.send(
        "PATCH", "/rivers?key=id&select=id,km&order=id", body, prefer="return=representation,count=exact"
    )

    assert rows(answer) == [{"id": 1, "km": 1}, {"id": 3, "km": 3}]
    assert dict(answer.headers)["content-range"] == "0-1/2"


async def test_a_key_may_have_several_columns_and_filters_hold_as_well(trial: RestPool) -> None:
    body = [{"id": 1, "name": "Nile", "km": 1}, {"id": 2, "name": "Nile", "km": 2}]

    both = await trial.send("PATCH", "/rivers?key=id,name&select=id,km", body, prefer="return=representation")
    filtered = await trial.send(
        "PATCH", "/rivers?key=id,name&select=id,km&id=gt.1", body, prefer="return=representation"
    )

    assert rows(both) == [{"id": 1, "km": 1}]
    assert rows(filtered) == []


@pytest.mark.parametrize(
    ("target", "body", "message"),
    [
        ("rivers?key=id", [{"id": 1, "km": 1}, {"id": 1, "km": 2}], "Object 2 of the body names a row that another one names too"),
        ("rivers?key=id", [{"id": 1, "km": 1}, {"id": "1", "km": 2}], "Object 2 of the body names a row that another one names too"),
        ("rivers?key=id", [{"id": 1, "km": 1}, {"id": "01", "km": 2}], "Two objects of the body name one row by their key columns"),
        ("rivers?key=id", [{"id": None, "km": 1}], "Object 1 of the body has no value for a key column"),
        ("rivers?key=id", [{"km": 1}], "Object 1 of the body has no value for a key column"),
        ("rivers?key=id", [{"id": 1, "km": 1}, {"id": 2}], "All object keys must match"),
        ("rivers?key=id", [1], "All object keys must match"),
        ("rivers?key=nothing", [{"nothing": 1, "km": 1}], None),
    ],
)  # fmt: skip
async def test_keys_that_do_not_name_one_row_each_are_refused(
    trial: RestPool, target: str, body: object, message: str | None
) -> None:
    answer = await trial.send("PATCH", f"/{target}", body)

    assert answer.status == 400
    assert message is None or json.loads(answer.body)["message"] == message


@pytest.mark.parametrize("body", [[], [{"id": 1}], {"id": 1}])
async def test_a_body_without_values_changes_nothing(trial: RestPool, body: object) -> None:
    answer = await trial.send("PATCH", "/rivers?key=id", body, prefer="return=representation")

    assert rows(answer) == []


async def test_a_single_object_finds_its_row_by_its_key(trial: RestPool) -> None:
    answer = await trial.send(
        "PATCH", "/rivers?key=id&select=km", {"id": 2, "km": 5}, prefer="return=representation"
    )

    assert rows(answer) == [{"km": 5}]
