"""Section 4.2 Query parameters and headers."""

import re

import pytest

from tests.platforms.seed.callers import Caller

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("price=eq.10", ["Rivers"]),
        ("price=neq.10", ["Streams", "Lakes"]),
        ("price=gt.20", ["Lakes"]),
        ("price=gte.20", ["Streams", "Lakes"]),
        ("price=lt.20", ["Rivers"]),
        ("price=lte.20", ["Rivers", "Streams"]),
        ("title=like.R*", ["Rivers"]),
        ("title=like.r*", []),
        ("title=ilike.*EA*", ["Streams"]),
        ("isbn=in.(a,c)", ["Rivers", "Lakes"]),
        ("published=is.null", ["Lakes"]),
        ("isbn=not.in.(a,c)", ["Streams"]),
        ("published=not.is.null", ["Rivers", "Streams"]),
        ("price=gt.10&price=lt.30", ["Streams"]),
        ("price=gt.10&published=is.null", ["Lakes"]),
    ],
)
def test_filters_leave_their_rows(anon: Caller, query: str, titles: list[str]) -> None:
    found = anon.result("GET", f"/rest/v1/books?select=title&order=id&{query}")

    assert [row["title"] for row in found] == titles


@pytest.mark.parametrize("members", ["name,country", "*"])
def test_related_rows_are_embedded(anon: Caller, members: str) -> None:
    one = anon.result("GET", f"/rest/v1/books?select=title,authors({members})&id=eq.1")[0]
    many = anon.result("GET", "/rest/v1/authors?select=name,books(title,price)&id=eq.1")[0]

    assert one["authors"]["name"] == "Ada"
    assert ("id" in one["authors"]) == (members == "*")
    assert {row["title"] for row in many["books"]} == {"Rivers", "Streams"}
    filtered = anon.result("GET", "/rest/v1/authors?select=name,books(title)&books.title=eq.Rivers&id=eq.1")
    assert filtered == [{"name": "Ada", "books": [{"title": "Rivers"}]}]


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("name.desc", ["Cleo", "Bob", "Ada"]),
        ("country.asc.nullsfirst", ["Bob", "Cleo", "Ada"]),
        ("country.asc.nullslast", ["Cleo", "Ada", "Bob"]),
        ("country.desc.nullslast,name.asc", ["Ada", "Cleo", "Bob"]),
    ],
)
def test_rows_are_ordered(anon: Caller, order: str, names: list[str]) -> None:
    assert [row["name"] for row in anon.result("GET", f"/rest/v1/authors?select=name&order={order}")] == names


def test_pages_by_limit_and_offset_and_by_range(anon: Caller) -> None:
    at = "/rest/v1/authors?select=name&order=id"
    first = anon.ask("GET", at, range="0-1", prefer="count=exact")
    whole = anon.ask("GET", at, range="0-9", prefer="count=exact")

    assert anon.result("GET", f"{at}&limit=1&offset=1") == [{"name": "Bob"}]
    assert (first.headers["content-range"], len(first.json())) == ("0-1/3", 2)
    assert (whole.status_code, whole.headers["content-range"]) == (200, "0-2/3")
    assert anon.ask("GET", at, range="0-1").headers["content-range"].startswith("0-1/")
    assert anon.ask("GET", at, range="90-99", prefer="count=exact").status_code == 416
    assert anon.ask("GET", at, range="9-2").status_code == 416


@pytest.mark.parametrize("kind", ["exact", "planned", "estimated"])
def test_a_count_stands_behind_the_range(anon: Caller, kind: str) -> None:
    answer = anon.ask("GET", "/rest/v1/authors?select=id&limit=2", prefer=f"count={kind}")

    assert re.fullmatch(r"0-1/\d+", answer.headers["content-range"])
    if kind == "exact":
        assert answer.headers["content-range"] == "0-1/3"


def test_one_object_instead_of_an_array_where_the_filter_finds_one(anon: Caller) -> None:
    accept = "application/vnd.rest.object+json"
    one = anon.ask("GET", "/rest/v1/authors?select=name&id=eq.1", accept=accept)
    several = anon.ask("GET", "/rest/v1/authors?select=name", accept=accept)

    assert (one.status_code, one.json()) == (200, {"name": "Ada"})
    assert one.headers["content-type"].startswith(accept)
    assert (several.status_code, several.json()["code"]) == (406, "RESTERR116")
