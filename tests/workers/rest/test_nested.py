"""Rows inserted together with the rows related to them: docs/rest-additions.md, "Nested inserts"."""

import json
import threading
from typing import Any

import pytest

from tests.workers.rest.rest_pool import RestPool, rows, user
from workers.rest import prepare
from workers.rest.model import RestPlan
from workers.rest.plan.plan import make_plan

_SHOWN = "return=representation"


async def test_children_of_all_kinds_are_inserted_with_their_parent(trial: RestPool) -> None:
    body = {
        "id": 10, "name": "Elbe",
        "mouths": {"sea": "North Sea"},
        "bridges": [{"name": "Dresden"}, {"name": "Hamburg"}],
        "tags": [{"word": "long"}, {"word": "wide"}],
    }  # fmt: skip

    answer = await trial.send(
        "POST", "/rivers?nested=true&select=name,km,mouths(sea),bridges(name),tags(word)", body, prefer=_SHOWN
    )

    assert answer.status == 201
    assert rows(answer) == [
        {
            "name": "Elbe", "km": 100, "mouths": {"sea": "North Sea"},
            "bridges": [{"name": "Dresden"}, {"name": "Hamburg"}], "tags": [{"word": "long"}, {"word": "wide"}],
        }
    ]  # fmt: skip


async def test_a_long_body_is_taken_apart_beside_other_requests(
    trial: RestPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def plan_with_note(*arguments: Any) -> RestPlan:
        threads.append(threading.current_thread().name)
        return make_plan(*arguments)

    monkeypatch.setattr(prepare, "make_plan", plan_with_note)
    body = {"id": 3000, "name": "long", "bridges": [{"name": f"bridge {number}"} for number in range(5000)]}

    answer = await trial.send("POST", "/rivers?nested=true", body)

    assert answer.status == 201
    assert [name.partition("_")[0] for name in threads] == ["rest"]


async def test_parents_come_first_and_many_rows_keep_their_order(trial: RestPool) -> None:
    body = [
        {"name": "Avignon", "rivers": {"id": 20, "name": "Rhone"}},
        {"name": "Rome", "rivers": {"id": 21, "name": "Tiber", "mouths": {"sea": "Tyrrhenian"}}},
    ]

    answer = await trial.send(
        "POST", "/bridges?nested=true&select=name,rivers(name,mouths(sea))", body, prefer=_SHOWN
    )

    assert rows(answer) == [
        {"name": "Avignon", "rivers": {"name": "Rhone", "mouths": None}},
        {"name": "Rome", "rivers": {"name": "Tiber", "mouths": {"sea": "Tyrrhenian"}}},
    ]


async def test_some_rows_may_refer_to_rows_that_are_there(trial: RestPool) -> None:
    body = [{"name": "Koblenz", "river_id": 2}, {"name": "Lyon", "rivers": {"id": 22, "name": "Saone"}}]

    answer = await trial.send("POST", "/bridges?nested=true&select=name,river_id", body, prefer=_SHOWN)

    assert rows(answer) == [{"name": "Koblenz", "river_id": 2}, {"name": "Lyon", "river_id": 22}]


@pytest.mark.parametrize("nothing", [None, [], {}])
async def test_nothing_related_is_no_fault(trial: RestPool, nothing: object) -> None:
    answer = await trial.send(
        "POST",
        "/rivers?nested=true&select=bridges(name)",
        {"id": 30, "name": "Lek", "bridges": nothing if nothing != {} else []},
        prefer=_SHOWN,
    )

    assert rows(answer) == [{"bridges": []}]


async def test_defaults_fill_what_is_missing_and_minimal_answers_show_nothing(trial: RestPool) -> None:
    shown = await trial.send(
        "POST",
        "/rivers?nested=true&select=km,kind",
        [{"id": 31, "name": "a", "bridges": [{"name": "b"}]}],
        prefer=f"{_SHOWN},missing=default",
    )
    minimal = await trial.send(
        "POST", "/rivers?nested=true", {"id": 32, "name": "c", "bridges": [{"name": "d"}]}
    )
    located = await trial.send(
        "POST", "/rivers?nested=true", {"id": 33, "name": "e"}, prefer="return=headers-only"
    )

    assert rows(shown) == [{"km": 100, "kind": "plain"}]
    assert (minimal.status, minimal.body) == (201, b"")
    assert dict(located.headers)["location"] == "/rivers?id=eq.33"


async def test_a_failure_in_one_relation_undoes_all(rest_pool: RestPool) -> None:
    body = {"id": 40, "name": "Weser", "bridges": [{"name": "good"}, {"name": None}]}

    answer = await rest_pool.send("POST", "/rivers?nested=true", body)
    after = await rest_pool.send("GET", "/rivers?id=eq.40")

    assert (answer.status, json.loads(answer.body)["code"]) == (400, "23502")
    assert rows(after) == []


async def test_every_relation_is_written_as_the_caller(trial: RestPool) -> None:
    body = {"id": 41, "name": "Oder", "bridges": [{"name": "x"}]}

    allowed = await trial.send("POST", "/rivers?nested=true", body, caller=user("ada"))
    anonymous = await trial.send(
        "POST", "/rivers?nested=true", body, caller=user("ada").__class__(b'{"role":"rest_anon"}')
    )

    assert allowed.status == 201
    assert json.loads(anonymous.body)["code"] == "42501"


@pytest.mark.parametrize(
    ("target", "body", "message"),
    [
        ("rivers", {"id": 1, "nothing": []}, "Could not find a relationship between 'rivers' and 'nothing' in the schema cache"),
        ("readings", {"id": 8, "nothing": []}, "Could not find the 'nothing' column of 'readings' in the schema cache"),
        ("rivers", {"id": 50, "name": "a", "bridges": 3}, "bridges names related rows: an object or an array of objects is expected"),
        ("rivers", {"id": 50, "name": "a", "bridges": [3]}, "bridges names related rows: an object or an array of objects is expected"),
        ("rivers", {"id": 50, "name": "a", "mouths": [{"sea": "x"}, {"sea": "y"}]}, "mouths is one row for each row of rivers"),
        ("bridges", {"name": "a", "rivers": [{"id": 50, "name": "b"}, {"id": 51, "name": "c"}]}, "rivers is one row, not 2"),
        ("bridges", {"name": "a", "river_id": 1, "rivers": {"id": 50, "name": "b"}}, "river_id of bridges is given twice: as a value and by a related row"),
        ("rivers", {"id": 50, "name": "a", "bridges": [{"name": "b", "river_id": 3}]}, "river_id of bridges is given twice: as a value and by a related row"),
        ("rivers", {"id": 50, "name": "a", "bridges": [{"name": "b"}, {"name": "c", "built": None}]}, "All object keys must match"),
        ("rivers", [{"id": 50, "name": "a"}, {"id": 51}], "All object keys must match"),
        ("rivers", 3, "The body of a nested insert is an object or an array of objects"),
        ("rivers", b"{", "Empty or invalid json"),
        ("rivers", b'{"id": 50, "name": "x", "bridges": [{"\xff": 1}]}', "Empty or invalid json"),
        ("bridges", {"name": "a", "rivers": {"id": 50, "name": "kept back"}}, "A trigger or rule kept back rows of rivers, so nothing can refer to them"),
    ],
)  # fmt: skip
async def test_bodies_that_make_no_sense_are_refused_in_words(
    trial: RestPool, target: str, body: object, message: str
) -> None:
    answer = await trial.send("POST", f"/{target}?nested=true", body)

    assert answer.status == 400, answer
    assert json.loads(answer.body)["message"] == message


async def test_relations_inside_one_another_have_a_bound(trial: RestPool) -> None:
    body: dict[str, object] = {"id": 60, "name": "deep"}
    for number in range(61, 73):
        key = "bridges" if number % 2 else "rivers"
        body = {
            "name": f"d{number}",
            key: body if key == "rivers" else [body],
            **({"id": number} if key == "bridges" else {}),
        }

    answer = await trial.send("POST", "/bridges?nested=true", body)

    assert json.loads(answer.body)["message"] == "At most 10 relations inside one another"


async def test_relations_beside_one_another_have_a_bound(trial: RestPool) -> None:
    def related(level: int) -> dict[str, object]:
        """Return an object that names its related rows in all spellings, so that every level has three times the inserts."""
        if level == 8:
            return {}
        if level % 2:
            return {
                name: related(level + 1)
                for name in ("rivers", "rivers!river_id", "rivers!bridges_river_id_fkey")
            }
        return {
            name: [related(level + 1)]
            for name in ("bridges", "bridges!river_id", "bridges!bridges_river_id_fkey")
        }

    answer = await trial.send("POST", "/rivers?nested=true", related(0))

    assert json.loads(answer.body)["message"] == "At most 100 relations in one nested insert"


async def test_a_body_without_bottom_is_refused(trial: RestPool) -> None:
    answer = await trial.send("POST", "/rivers?nested=true", b"[" * 100_000)

    assert answer.status == 400


async def test_whole_rows_and_computed_fields_can_be_shown(trial: RestPool) -> None:
    body = [{"id": 91, "name": "b", "meta": {}}, {"id": 90, "name": "a", "meta": {}}]

    answer = await trial.send(
        "POST", "/rivers?nested=true&select=*,label", body, prefer=f"{_SHOWN},missing=default"
    )

    assert rows(answer) == [
        {"id": 91, "name": "b", "km": 100, "meta": {}, "kind": "plain", "label": "91 b"},
        {"id": 90, "name": "a", "km": 100, "meta": {}, "kind": "plain", "label": "90 a"},
    ]


@pytest.mark.parametrize(
    ("method", "query", "headers"),
    [
        ("POST", "nested=true&columns=id", {}),
        ("POST", "nested=true&on_conflict=id", {}),
        ("POST", "nested=true", {"prefer": "resolution=merge-duplicates"}),
        ("POST", "nested=true", {"content_type": "text/csv"}),
        ("POST", "nested=maybe", {}),
        ("PATCH", "nested=true", {}),
        ("GET", "nested=true", {}),
    ],
)
async def test_nested_goes_with_plain_inserts_only(
    trial: RestPool, method: str, query: str, headers: dict[str, str]
) -> None:
    answer = await trial.send(method, f"/rivers?{query}", {"id": 70, "name": "x"}, **headers)

    assert answer.status == 400, answer


async def test_rows_without_a_key_cannot_be_shown(trial: RestPool) -> None:
    body = {"owner": "ada", "body": "x"}

    shown = await trial.send("POST", "/secrets?nested=true", body, prefer=_SHOWN)
    minimal = await trial.send("POST", "/secrets?nested=true", body)

    assert shown.status == 400
    assert minimal.status == 201


async def test_json_arrays_and_dates_arrive_as_they_are(trial: RestPool) -> None:
    body = {
        "id": 80,
        "name": "Ems",
        "meta": {"b": [1, {"c": None}]},
        "bridges": [{"name": "x", "built": "1999-12-31"}],
    }

    answer = await trial.send("POST", "/rivers?nested=true&select=meta,bridges(built)", body, prefer=_SHOWN)

    assert rows(answer) == [{"meta": {"b": [1, {"c": None}]}, "bridges": [{"built": "1999-12-31"}]}]
