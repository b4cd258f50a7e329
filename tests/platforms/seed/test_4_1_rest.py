"""Section 4.1 The REST interface."""

import time
from typing import Any
from uuid import uuid4

import pytest

from tests.platforms.seed.callers import Caller, SeedPlatform

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


def test_the_root_describes_the_interface_as_openapi(service: Caller) -> None:
    document = service.result("GET", "/rest/v1/")

    assert document.get("swagger") or document["openapi"]
    assert {"/authors", "/books", "/dear_books", "/rpc/add"} <= document["paths"].keys()


def test_the_key_may_come_in_the_query(seed_platform: SeedPlatform) -> None:
    key = seed_platform.anon.headers["apikey"]

    found = seed_platform.client.get(f"/rest/v1/authors?select=name&id=eq.1&apikey={key}")

    assert (found.status_code, found.json()) == (200, [{"name": "Ada"}])


def test_rows_of_tables_and_views_come_as_an_array(anon: Caller) -> None:
    answer = anon.ask("GET", "/rest/v1/authors?select=*&order=id")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()[0] == {"id": 1, "name": "Ada", "country": "SE"}
    assert anon.result("GET", "/rest/v1/dear_books?select=title&order=title") == [
        {"title": "Lakes"},
        {"title": "Streams"},
    ]


@pytest.mark.parametrize("body", [{"word": "one"}, [{"word": "many"}, {"word": "more"}]])
@pytest.mark.parametrize("wanted", ["representation", "minimal", "headers-only", None])
def test_an_insert_is_answered_as_prefer_says(anon: Caller, body: Any, wanted: str | None) -> None:
    headers = {"prefer": f"return={wanted}"} if wanted else {}

    answer = anon.ask("POST", "/rest/v1/scratch", body, **headers)

    assert answer.status_code == 201
    if wanted == "representation":
        rows = answer.json()
        assert [row["word"] for row in rows] == [
            row["word"] for row in (body if isinstance(body, list) else [body])
        ]
        assert all(isinstance(row["id"], int) for row in rows)
    else:
        assert answer.content == b""
    if wanted == "headers-only" and isinstance(body, dict):
        assert answer.headers["location"].startswith("/scratch?id=eq.")


def test_matching_rows_are_updated_and_deleted(anon: Caller) -> None:
    word = str(uuid4())
    anon.ask("POST", "/rest/v1/scratch", [{"word": word, "n": 1}, {"word": word, "n": 2}])
    at = f"/rest/v1/scratch?word=eq.{word}"

    quiet = anon.ask("PATCH", f"{at}&n=eq.1", {"n": 5})
    minimal = anon.ask("PATCH", f"{at}&n=eq.5", {"n": 6}, prefer="return=minimal")
    shown = anon.ask("PATCH", f"{at}&n=eq.6", {"n": 7}, prefer="return=representation")
    gone = anon.ask("DELETE", f"{at}&n=eq.7", prefer="return=representation")
    rest = anon.ask("DELETE", at)

    assert [(each.status_code, each.content) for each in (quiet, minimal, rest)] == [(204, b"")] * 3
    assert (shown.status_code, [row["n"] for row in shown.json()]) == (200, [7])
    assert (gone.status_code, [row["n"] for row in gone.json()]) == (200, [7])
    assert anon.result("GET", at) == []


def test_without_a_filter_all_rows_are_affected(anon: Caller) -> None:
    anon.ask("POST", "/rest/v1/scratch", [{"word": "x"}, {"word": "y"}])

    patched = anon.ask("PATCH", "/rest/v1/scratch", {"n": 1}, prefer="return=representation").json()
    assert len(patched) >= 2
    assert {row["n"] for row in patched} == {1}
    assert anon.ask("DELETE", "/rest/v1/scratch").status_code == 204
    assert anon.result("GET", "/rest/v1/scratch?select=*") == []


def test_functions_are_called_by_the_names_of_their_parameters(anon: Caller) -> None:
    assert anon.result("POST", "/rest/v1/rpc/add", {"a": 2, "b": 3}) == 5


def test_a_function_is_one_transaction(anon: Caller) -> None:
    done = anon.ask("POST", "/rest/v1/rpc/hand_over", {"giver": 1, "taker": 2, "amount": 4})
    failed = anon.ask("POST", "/rest/v1/rpc/hand_over", {"giver": 1, "taker": 2, "amount": 100})

    assert (done.is_success, failed.status_code) == (True, 400)
    assert [row["n"] for row in anon.result("GET", "/rest/v1/counters?select=n&order=id")] == [6, 14]


def test_merge_duplicates_upserts_by_the_key_or_the_columns_named(anon: Caller) -> None:
    prefer = "resolution=merge-duplicates,return=representation"
    by_isbn = "/rest/v1/books?on_conflict=isbn"

    made = anon.ask("POST", by_isbn, {"author_id": 3, "title": "Seas", "isbn": "u"}, prefer=prefer)
    merged = anon.ask("POST", by_isbn, {"author_id": 3, "title": "Oceans", "isbn": "u"}, prefer=prefer)

    assert (made.status_code, merged.is_success) == (201, True)
    assert merged.json()[0] == made.json()[0] | {"title": "Oceans"}
    assert anon.ask("DELETE", "/rest/v1/books?isbn=eq.u").status_code == 204


def test_the_interface_follows_the_schema(seed_platform: SeedPlatform) -> None:
    seed_platform.platform.psql(
        "create table latecomers (id int primary key, name text); insert into latecomers values (1, 'x')"
    )
    seed_platform.platform.wait_for_catalog("latecomers")
    assert seed_platform.anon.result("GET", "/rest/v1/latecomers?select=name") == [{"name": "x"}]

    seed_platform.platform.psql("drop table latecomers")
    deadline = time.monotonic() + 30
    while seed_platform.anon.ask("GET", "/rest/v1/latecomers").status_code != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)
