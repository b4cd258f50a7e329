"""Pages by cursor on a real database: docs/rest-additions.md, "Pages by cursor"."""

import base64
import json
import re

import pytest

from schemas.http import Response, header
from tests.workers.rest.rest_pool import RestPool, rows

_ORDERS = [
    "id.asc",
    "id.desc",
    "level.asc",
    "level.desc",
    "level.desc.nullslast,place.asc.nullsfirst",
    "level.asc.nullsfirst,place.desc",
    "place,level.desc,id",
    "place.desc.nullslast,id.desc",
]


def _links(response: Response) -> dict[str, str]:
    found = re.findall(r'<\?([^>]*)>; rel="(\w+)"', header(response.headers, "link") or "")
    return {name: target for target, name in found}


async def _pages(rest_pool: RestPool, query: str, way: str) -> list[list[int]]:
    """Follow links to the end, and give the keys of each page."""
    pages = []
    while True:
        answer = await rest_pool.send("GET", f"/readings?{query}")
        pages.append([row["id"] for row in rows(answer)])  # type: ignore[attr-defined]  # a list of objects
        if way not in _links(answer):
            return pages
        query = _links(answer)[way]
        assert len(pages) < 20


@pytest.mark.parametrize("order", _ORDERS)
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
async def test_pages_cover_all_rows_in_order_forwards_and_backwards(
    rest_pool: RestPool, order: str, limit: int
) -> None:
    key = "" if "id" in order else ",id"
    whole = await rest_pool.send("GET", f"/readings?select=id&order={order}{key}")
    expected = [row["id"] for row in rows(whole)]  # type: ignore[attr-defined]  # a list of objects
    query = f"select=id&order={order}&limit={limit}"
    first = await rest_pool.send("GET", f"/readings?{query}", prefer="pagination=cursor")
    forwards = [[row["id"] for row in rows(first)]]  # type: ignore[attr-defined]  # a list of objects
    last = _links(first).get("next")
    while last:
        answer = await rest_pool.send("GET", f"/readings?{last}")
        forwards.append([row["id"] for row in rows(answer)])  # type: ignore[attr-defined]  # a list of objects
        came_from, last = last, _links(answer).get("next")
    backwards = await _pages(rest_pool, came_from, "prev") if len(forwards) > 1 else forwards

    assert [id for page in forwards for id in page] == expected
    assert all(len(page) == limit for page in forwards[:-1])
    assert backwards == list(reversed(forwards))


async def test_a_page_tells_its_preference_and_its_count(rest_pool: RestPool) -> None:
    answer = await rest_pool.send(
        "GET", "/readings?select=id&limit=2", prefer="pagination=cursor,count=exact"
    )

    assert header(answer.headers, "preference-applied") == "count=exact, pagination=cursor"
    assert (answer.status, header(answer.headers, "content-range")) == (200, "*/7")
    assert set(_links(answer)) == {"next"}


async def test_rows_that_come_and_go_do_not_shift_pages(rest_pool: RestPool) -> None:
    first = await rest_pool.send("GET", "/readings?select=id&limit=2&order=id", prefer="pagination=cursor")
    await rest_pool.send("POST", "/readings", {"id": 0})
    try:
        second = await rest_pool.send("GET", f"/readings?{_links(first)['next']}")
    finally:
        await rest_pool.send("DELETE", "/readings?id=eq.0")

    assert [row["id"] for row in rows(second)] == [3, 4]  # type: ignore[attr-defined]  # a list of objects


async def test_pages_carry_embeds_filters_and_orders_of_related_rows(rest_pool: RestPool) -> None:
    query = "select=name,rivers(name)&order=rivers(name).desc&limit=2&id=gt.0"
    first = await rest_pool.send("GET", f"/bridges?{query}", prefer="pagination=cursor")
    second = await rest_pool.send("GET", f"/bridges?{_links(first)['next']}")

    assert [row["name"] for row in rows(first)] == ["Basel", "Bonn"]  # type: ignore[attr-defined]  # a list
    assert rows(second) == [{"name": "Qasr", "rivers": {"name": "Nile"}}]


async def test_an_empty_page_has_no_neighbours(rest_pool: RestPool) -> None:
    answer = await rest_pool.send("GET", "/readings?id=gt.99&limit=2", prefer="pagination=cursor")

    assert rows(answer) == []
    assert header(answer.headers, "link") is None


async def test_nulls_may_be_left_out_of_pages(rest_pool: RestPool) -> None:
    answer = await rest_pool.send(
        "GET",
        "/readings?limit=1&order=id.desc&id=lt.7",
        prefer="pagination=cursor",
        accept="application/vnd.pgrst.array+json;nulls=stripped",
    )

    assert rows(answer) == [{"id": 6, "level": 0.5}]


def _cursor(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("readings?limit=1&cursor=nonsense", "The cursor is not one of ours"),
        ("readings?limit=1&cursor=", "The cursor is not one of ours"),
        ("readings?limit=1&cursor=%F0%9F%8C%8A", "The cursor is not one of ours"),
        (f"readings?limit=1&cursor={_cursor([1, ['1']])}", "The cursor is not one of ours"),
        (f"readings?limit=1&cursor={_cursor([False, [1]])}", "The cursor is not one of ours"),
        (f"readings?limit=1&cursor={_cursor([False, ['1', '2']])}", "Pagination by cursor: the cursor belongs to another order"),
        (f"readings?limit=1&cursor={_cursor([False, []])}", "Pagination by cursor: the cursor belongs to another order"),
        (f"readings?limit=1&offset=1&cursor={_cursor([False, ['1']])}", "Pagination by cursor: it does not go with an offset"),
        (f"readings?limit=1&distinct=true&cursor={_cursor([False, ['1']])}", "Pagination by cursor: it does not go with aggregates or distinct"),
        (f"readings?limit=1&order={'level,' * 50}id&cursor={_cursor([False, ['1'] * 51])}", "Pagination by cursor: an order has at most 50 terms, with the primary key"),
        (f"secrets?limit=1&cursor={_cursor([False, ['1']])}", "Pagination by cursor: secrets has no primary key that would make the order of its rows certain"),
    ],
)  # fmt: skip
async def test_pages_that_cannot_be_are_refused_in_words(
    rest_pool: RestPool, query: str, message: str
) -> None:
    answer = await rest_pool.send("GET", f"/{query}")

    assert answer.status == 400
    assert json.loads(answer.body)["message"] == message


async def test_a_cursor_s_values_are_values(rest_pool: RestPool) -> None:
    answer = await rest_pool.send(
        "GET", f"/readings?limit=1&cursor={_cursor([False, ['1); drop table readings; --']])}"
    )

    assert answer.status == 400
    assert json.loads(answer.body)["code"] == "22P02"


async def test_only_json_arrays_have_pages(rest_pool: RestPool) -> None:
    for accept in ("text/csv", "application/vnd.pgrst.object+json"):
        answer = await rest_pool.send("GET", "/readings?limit=1", prefer="pagination=cursor", accept=accept)

        assert json.loads(answer.body)["message"] == "Pagination by cursor: its answers are JSON arrays"
