"""Several operations in one transaction: docs/rest-additions.md, "Several operations, one transaction"."""

import json

import pytest

from schemas.http import Response
from tests.workers.rest.rest_pool import RestPool, rows, user
from workers.rest import batch as rest_batch

_SHOWN = {"Prefer": "return=representation"}


async def batch(rest_pool: RestPool, *operations: object, **headers: object) -> Response:
    return await rest_pool.send("POST", "/", list(operations), **headers)  # type: ignore[arg-type]  # headers are texts


def answers(response: Response) -> list[dict[str, object]]:
    assert response.status == 200, response
    found: list[dict[str, object]] = json.loads(response.body)
    return found


async def test_later_operations_use_what_earlier_ones_gave(trial: RestPool) -> None:
    response = await batch(
        trial,
        {"method": "POST", "path": "/bridges?select=id,name", "headers": _SHOWN, "body": {"name": "Worms"}, "as": "bridge"},
        {"method": "PATCH", "path": "/bridges?id=eq.{bridge.0.id}&select=name,river_id", "headers": _SHOWN, "body": {"river_id": 2}},
        {"method": "POST", "path": "/rpc/add_them", "body": {"a": {"$ref": "bridge.0.id"}, "b": 0}, "as": "sum"},
        {"method": "GET", "path": "/bridges?name=eq.{bridge.0.name}&select=rivers(name)"},
    )  # fmt: skip

    found = answers(response)
    assert [each["status"] for each in found] == [201, 200, 200, 200]
    assert [each["as"] for each in found] == ["bridge", "1", "sum", "3"]
    assert found[1]["body"] == [{"name": "Worms", "river_id": 2}]
    assert found[2]["body"] == found[0]["body"][0]["id"]  # type: ignore[index]  # a list of objects
    assert found[3]["body"] == [{"rivers": {"name": "Rhine"}}]


async def test_a_failure_undoes_all_and_names_the_operation(rest_pool: RestPool) -> None:
    response = await batch(
        rest_pool,
        {"method": "POST", "path": "/rivers", "body": {"id": 200, "name": "a"}},
        {"method": "POST", "path": "/rivers", "body": {"id": 200, "name": "b"}},
    )
    after = await rest_pool.send("GET", "/rivers?id=eq.200")

    assert response.status == 409
    assert json.loads(response.body) | {"details": ""} == {
        "code": "23505",
        "message": 'duplicate key value violates unique constraint "rivers_pkey"',
        "details": "",
        "hint": None,
        "operation": 1,
    }
    assert rows(after) == []


async def test_all_is_kept_when_all_succeed(rest_pool: RestPool) -> None:
    response = await batch(
        rest_pool,
        {"method": "POST", "path": "/rivers", "body": {"id": 201, "name": "kept"}},
        {"method": "GET", "path": "/rivers?id=eq.201&select=name", "headers": {"Accept": "text/csv"}},
    )
    gone = await rest_pool.send("DELETE", "/rivers?id=eq.201&select=name", prefer="return=representation")

    assert answers(response)[1]["body"] == "name\nkept"
    assert rows(gone) == [{"name": "kept"}]


async def test_the_whole_can_be_tried_out(rest_pool: RestPool) -> None:
    trying = rest_pool.with_options(tx_end="commit-allow-override")

    response = await batch(
        trying,
        {"method": "POST", "path": "/rivers", "body": {"id": 202, "name": "tried"}},
        prefer="tx=rollback",
    )
    after = await rest_pool.send("GET", "/rivers?id=eq.202")

    assert answers(response)[0]["status"] == 201
    assert rows(after) == []


async def test_each_operation_sees_itself_as_the_request(trial: RestPool) -> None:
    response = await batch(
        trial,
        {"method": "POST", "path": "/rpc/teapot_not", "body": {}},
        caller=user("ada"),
    )
    first, second = answers(
        await batch(
            trial,
            {"method": "GET", "path": "/rpc/asked"},
            {"method": "POST", "path": "/rpc/asked", "body": {}},
            caller=user("ada"),
            x_test="seen",
        )
    )

    assert response.status == 404
    assert first["body"] == {"role": "rest_user", "method": "GET", "path": "/rpc/asked", "header": "seen", "cookie": None, "sub": "ada"}  # fmt: skip
    assert second["body"]["method"] == "POST"  # type: ignore[index]  # an object


async def test_operations_are_the_caller_s(trial: RestPool) -> None:
    response = await batch(
        trial,
        {"method": "POST", "path": "/secrets", "body": {"owner": "ada", "body": "mine"}},
        {"method": "GET", "path": "/secrets?select=owner"},
        {"method": "POST", "path": "/secrets", "body": {"owner": "bob", "body": "not mine"}},
        caller=user("ada"),
    )
    allowed = await batch(trial, {"method": "GET", "path": "/secrets?select=owner"}, caller=user("ada"))

    assert (response.status, json.loads(response.body)["operation"]) == (403, 2)
    assert answers(allowed)[0]["body"] == [{"owner": "ada"}]


async def test_reads_cannot_write_but_the_next_operation_can(trial: RestPool) -> None:
    refused = await batch(trial, {"method": "GET", "path": "/rpc/write_row"})
    mixed = await batch(
        trial,
        {"method": "GET", "path": "/rivers?select=id&id=eq.1"},
        {"method": "POST", "path": "/rivers", "body": {"id": 203, "name": "x"}},
        {"method": "HEAD", "path": "/rivers"},
        {"method": "DELETE", "path": "/rivers?id=eq.203"},
    )

    assert json.loads(refused.body)["code"] == "25006"
    assert [each["status"] for each in answers(mixed)] == [200, 201, 200, 204]


async def test_what_an_operation_sets_is_forgotten_after_it(trial: RestPool) -> None:
    zone = {"Prefer": "timezone=America/Los_Angeles"}
    response = await batch(
        trial,
        {"method": "GET", "path": "/rpc/zone", "headers": zone},
        {"method": "GET", "path": "/rpc/zone"},
        {"method": "GET", "path": "/rpc/named_header"},
        {"method": "GET", "path": "/rivers?id=eq.1&select=id"},
        {"method": "POST", "path": "/rivers?on_conflict=id", "headers": {"Prefer": "resolution=merge-duplicates"}, "body": {"id": 1, "name": "Nile"}},
        {"method": "POST", "path": "/rivers?on_conflict=id", "headers": {"Prefer": "resolution=merge-duplicates"}, "body": {"id": 204, "name": "new"}},
    )  # fmt: skip

    found = answers(response)
    assert found[0]["body"] == "America/Los_Angeles"
    assert found[1]["body"] != "America/Los_Angeles"
    assert found[2]["headers"]["x-named"] == "yes, too"  # type: ignore[index]  # an object
    assert found[2]["headers"]["set-cookie"] == ["a=1", "b=2"]  # type: ignore[index]  # an object
    assert "x-named" not in found[3]["headers"]  # type: ignore[operator]  # an object
    assert [found[4]["status"], found[5]["status"]] == [200, 201]


async def test_an_answer_that_a_function_makes_an_error_undoes_all(rest_pool: RestPool) -> None:
    response = await batch(
        rest_pool,
        {"method": "POST", "path": "/rivers", "body": {"id": 205, "name": "x"}},
        {"method": "GET", "path": "/rpc/teapot"},
    )
    after = await rest_pool.send("GET", "/rivers?id=eq.205")

    assert response.status == 418
    assert rows(after) == []


async def test_demands_of_an_operation_hold(trial: RestPool) -> None:
    one = {"Accept": "application/vnd.pgrst.object+json"}
    response = await batch(
        trial,
        {"method": "GET", "path": "/rivers?id=eq.1&select=id", "headers": one},
        {"method": "GET", "path": "/rivers?select=id", "headers": one},
    )

    assert (response.status, json.loads(response.body)["operation"]) == (406, 1)


async def test_nested_inserts_and_counts_can_be_operations(trial: RestPool) -> None:
    response = await batch(
        trial,
        {"method": "POST", "path": "/rivers?nested=true&select=bridges(name)", "headers": _SHOWN, "body": {"id": 206, "name": "y", "bridges": [{"name": "z"}]}, "as": "river"},
        {"method": "GET", "path": "/bridges?name=eq.{river.0.bridges.0.name}&select=name", "headers": {"Prefer": "count=exact"}},
        {"method": "GET", "path": "/rivers?select=id", "headers": {"Prefer": "count=planned"}},
    )  # fmt: skip

    found = answers(response)
    assert found[1]["headers"]["content-range"] == "0-0/1"  # type: ignore[index]  # an object
    assert found[2]["status"] in (200, 206)


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ([], "there must be 1 to 100 operations"),
        ([{"method": "GET", "path": "/rivers"}] * 101, "there must be 1 to 100 operations"),
        ({"method": "GET", "path": "/rivers"}, "Expected `array`, got `object`"),
        ([{"method": "GET"}], "Object missing required field `path` - at `$[0]`"),
        ([{"method": "GET", "path": "/rivers", "sql": "x"}], "Object contains unknown field `sql` - at `$[0]`"),
        ([{"method": "TRACE", "path": "/rivers"}], "operation 0 has a method that is none of GET, HEAD, POST, PATCH, PUT, DELETE"),
        ([{"method": "GET", "path": "rivers"}], "operation 0 needs a path below /rest/v1, as /orders?id=eq.1"),
        ([{"method": "POST", "path": "/"}], "operation 0 needs a path below /rest/v1, as /orders?id=eq.1"),
        ([{"method": "GET", "path": "/rivers", "headers": {"Authorization": "x"}}], "operation 0 cannot set the header Authorization"),
        ([{"method": "GET", "path": "/rivers", "as": "a"}, {"method": "GET", "path": "/rivers", "as": "a"}], "two operations have the same name"),
        ([{"method": "GET", "path": "/rivers?id=eq.{later.0.id}"}, {"method": "GET", "path": "/rivers", "as": "later"}], "later.0.id names no operation before this one"),
        ([{"method": "GET", "path": "/rivers?id=eq.1"}, {"method": "GET", "path": "/rivers?id=eq.{0.3.id}"}], "0.3.id is not in the result: ask for it with Prefer: return=representation"),
        ([{"method": "GET", "path": "/rivers?id=eq.1"}, {"method": "GET", "path": "/rivers?id=eq.{0.0}"}], "0.0 is no single value, so it cannot stand in a path"),
        ([{"method": "GET", "path": "/rivers?id=eq.1"}, {"method": "POST", "path": "/rivers", "body": {"id": {"$ref": 3}}}], "a reference is a text such as order.0.id"),
    ],
)  # fmt: skip
async def test_lists_that_make_no_sense_are_refused_in_words(
    trial: RestPool, operations: object, message: str
) -> None:
    response = await trial.send("POST", "/", operations)

    assert response.status == 400, response
    assert json.loads(response.body)["message"] == f"The list of operations is wrong: {message}"


@pytest.mark.parametrize(
    "operation",
    [
        {"method": "GET", "path": "/rivers", "headers": {"Prefer": "tx=rollback"}},
        {"method": "POST", "path": "/rivers"},
        {"method": "GET", "path": "/nothing"},
        {"method": "GET", "path": "/rivers?id=nonsense"},
        {"method": "PUT", "path": "/rpc/add_them"},
        {"method": "POST", "path": "/bridges?nested=true", "body": {"name": "x" * 70_000}},
    ],
)
async def test_an_operation_that_is_refused_refuses_the_whole(
    trial: RestPool, operation: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_batch, "_MOST_SLOW", 64 * 1024)
    response = await batch(
        trial, {"method": "POST", "path": "/rivers", "body": {"id": 207, "name": "x"}}, operation
    )

    assert 400 <= response.status < 500
    assert json.loads(response.body)["operation"] == 1


async def test_values_of_results_are_values(trial: RestPool) -> None:
    evil = "a&id=eq.1) or true; --"
    response = await batch(
        trial,
        {"method": "POST", "path": "/rivers?select=name", "headers": _SHOWN, "body": {"id": 208, "name": evil}, "as": "r"},
        {"method": "GET", "path": "/rivers?name=eq.{r.0.name}&select=id"},
    )  # fmt: skip

    assert answers(response)[1]["body"] == [{"id": 208}]


async def test_numbers_of_results_keep_all_their_digits(trial: RestPool) -> None:
    exact, wide = "1234567890.12345678901", "1" + "0" * 400
    body = {"id": 20, "level": {"$ref": "0.0.level"}, "place": "literal"}
    response = await batch(
        trial,
        {"method": "POST", "path": "/readings?select=level", "headers": _SHOWN, "body": {"id": 19, "level": exact}},
        {"method": "POST", "path": "/readings", "body": body},
        {"method": "GET", "path": "/readings?level=eq.{0.0.level}&select=id,level::text&order=id"},
        {"method": "PATCH", "path": "/readings?id=eq.20&select=level", "headers": _SHOWN, "body": {"level": wide}},
        {"method": "POST", "path": "/readings?select=level::text", "headers": _SHOWN, "body": {"id": 21, "level": {"$ref": "3.0.level"}}},
    )  # fmt: skip

    found = answers(response)
    assert found[2]["body"] == [{"id": 19, "level": exact}, {"id": 20, "level": exact}]
    assert found[4]["body"] == [{"level": wide}]


async def test_a_text_that_begins_like_json_is_a_text(trial: RestPool) -> None:
    csv = {"method": "GET", "path": '/rivers?select="[k":km&id=eq.1', "headers": {"Accept": "text/csv"}}

    response = await batch(trial, csv)

    assert answers(response)[0]["body"] == "[k\n6650"


async def test_references_cannot_grow_without_end(trial: RestPool) -> None:
    first: dict[str, object] = {"method": "POST", "path": "/rpc/whole", "body": [1] * 10}
    later = [
        {"method": "POST", "path": "/rpc/whole", "body": [{"$ref": str(number)}] * 10} for number in range(11)
    ]

    response = await batch(trial, first, *later)

    assert response.status == 400
    assert "too long" in json.loads(response.body)["message"]


async def test_the_function_before_requests_sets_for_each_operation_alone(rest_pool: RestPool) -> None:
    asked = rest_pool.with_options(pre_request="before_each")

    response = await batch(
        asked,
        {"method": "GET", "path": "/rpc/set_before"},
        {"method": "POST", "path": "/rpc/set_before", "body": {}},
        {"method": "GET", "path": "/rivers?select=id&id=eq.1"},
        {"method": "GET", "path": "/rpc/set_before"},
    )

    calls = [each["body"] for each in answers(response)]
    assert calls == ["/rpc/set_before 1", "/rpc/set_before 1", [{"id": 1}], "/rpc/set_before 1"]
