"""Entity tags of reads, and writes that hold for known rows only: docs/rest-additions.md, "Entity tags"."""

import asyncio
import json
from hashlib import blake2b

import pytest

from schemas.http import Response, header
from tests.workers.rest.rest_pool import RestPool, rows
from workers.rest import etags

_OBJECT = "application/vnd.pgrst.object+json"


def tag(response: Response) -> str:
    found = header(response.headers, "etag")
    assert found is not None, response
    return found


async def test_a_read_that_the_caller_has_already_is_not_sent_again(rest_pool: RestPool) -> None:
    first = await rest_pool.send("GET", "/rivers?id=eq.1")
    again = await rest_pool.send("GET", "/rivers?id=eq.1", if_none_match=tag(first))
    weak = await rest_pool.send("GET", "/rivers?id=eq.1", if_none_match=f'"other", W/{tag(first)}')
    other = await rest_pool.send("GET", "/rivers?id=eq.2", if_none_match=tag(first))

    assert (again.status, again.body, tag(again)) == (304, b"", tag(first))
    assert weak.status == 304
    assert other.status == 200


async def test_representations_of_the_same_rows_have_tags_of_their_own(rest_pool: RestPool) -> None:
    accepts = ["application/json", _OBJECT, "text/csv", "application/vnd.pgrst.array+json;nulls=stripped"]

    answers = [await rest_pool.send("GET", "/rivers?id=eq.1", accept=accept) for accept in accepts]

    assert len({tag(answer) for answer in answers}) == 4


async def test_whatever_changes_the_head_of_a_read_is_part_of_its_tag(rest_pool: RestPool) -> None:
    prefers = ["", "count=exact", "count=planned", "count=estimated", "handling=lenient", "timezone=UTC"]

    answers = [await rest_pool.send("GET", "/rivers?id=eq.1", prefer=prefer) for prefer in prefers]
    again = [
        await rest_pool.send("GET", "/rivers?id=eq.1", prefer=prefer, if_none_match=tag(answers[0]))
        for prefer in prefers
    ]

    assert len({answer.body for answer in answers}) == 1
    heads = {
        (header(answer.headers, "content-range"), header(answer.headers, "preference-applied"))
        for answer in answers
    }
    assert len({tag(answer) for answer in answers}) == len(heads) == len(prefers)
    assert [answer.status for answer in again] == [304] + [200] * 5


async def test_a_count_that_changed_changes_the_tag_of_a_page(rest_pool: RestPool) -> None:
    target, prefer = "/rivers?order=id&limit=1", "count=exact"
    first = await rest_pool.send("GET", target, prefer=prefer)
    await rest_pool.send("POST", "/rivers", {"id": 120, "name": "beyond the page"})
    try:
        second = await rest_pool.send("GET", target, prefer=prefer, if_none_match=tag(first))
    finally:
        await rest_pool.send("DELETE", "/rivers?id=eq.120")

    assert (second.status, second.body) == (206, first.body)
    assert tag(second) != tag(first)


async def test_a_write_takes_the_tag_of_a_read_with_a_count_and_that_of_a_compressed_one(
    trial: RestPool,
) -> None:
    read = await trial.send("GET", "/rivers?id=eq.3", prefer="count=exact")

    counted = await trial.send("PATCH", "/rivers?id=eq.3", {"km": 3}, if_match=tag(read))
    compressed = await trial.send("PATCH", "/rivers?id=eq.3", {"km": 2}, if_match=f"W/{tag(read)}")

    assert (counted.status, compressed.status) == (204, 204)


def test_tags_on_several_lines_are_one_list() -> None:
    lines = [("if-none-match", '"a", "b,c"'), ("if-none-match", f'W/"{_rows_hash(b"[]")}-head"')]

    assert etags.are_met(lines[:1], b"[]", 1)
    assert not etags.are_met(lines, b"[]", 1)
    assert etags.are_met([("if-match", '"a"'), ("if-match", f'"{_rows_hash(b"[]")}-x"')], b"[]", 1)
    assert not etags.are_met([("if-match", "a")], b"[]", 1)


def _rows_hash(rows: bytes) -> str:
    return blake2b(rows, digest_size=12).hexdigest()


@pytest.mark.parametrize("accept", ["application/json", _OBJECT])
@pytest.mark.parametrize("method", ["PATCH", "DELETE", "PUT"])
async def test_a_write_holds_only_for_the_rows_that_were_read(
    trial: RestPool, method: str, accept: str
) -> None:
    read = await trial.send("GET", "/rivers?id=eq.3", accept=accept)
    body = {"id": 3, "name": "Po", "km": 1} if method == "PUT" else {"km": 1}

    known = await trial.send(method, "/rivers?id=eq.3", body, if_match=tag(read))
    unknown = await trial.send(method, "/rivers?id=eq.3", body, if_match='"something else"')

    assert known.status in (200, 204), known
    assert unknown.status == 412
    assert json.loads(unknown.body)["code"] == "HW412"


async def test_a_row_that_changed_since_it_was_read_is_not_overwritten(rest_pool: RestPool) -> None:
    await rest_pool.send("POST", "/rivers", {"id": 100, "name": "Main", "km": 1})
    try:
        read = await rest_pool.send("GET", "/rivers?id=eq.100&select=id,km")
        await rest_pool.send("PATCH", "/rivers?id=eq.100", {"km": 2})
        answer = await rest_pool.send(
            "PATCH", "/rivers?id=eq.100&select=id,km", {"km": 3}, if_match=tag(read)
        )
        kept = await rest_pool.send("GET", "/rivers?id=eq.100&select=km")
    finally:
        await rest_pool.send("DELETE", "/rivers?id=eq.100")

    assert answer.status == 412
    assert rows(kept) == [{"km": 2}]


async def test_a_failed_condition_hands_over_the_rows_as_they_are_and_a_write_the_tag_of_the_next(
    rest_pool: RestPool,
) -> None:
    target, prefer = "/rivers?id=eq.102&select=name,km", "return=representation"
    await rest_pool.send("POST", "/rivers", {"id": 102, "name": "Isar", "km": 1})
    try:
        first = await rest_pool.send("GET", target)
        written = await rest_pool.send("PATCH", target, {"km": 2}, if_match=tag(first), prefer=prefer)
        late = await rest_pool.send("PATCH", target, {"km": 3}, if_match=tag(first))
        mended = await rest_pool.send("PATCH", target, {"km": 4}, if_match=tag(late), prefer=prefer)
        last = await rest_pool.send("PATCH", target, {"km": 5}, if_match=tag(mended))
    finally:
        await rest_pool.send("DELETE", "/rivers?id=eq.102")
    gone = await rest_pool.send("PATCH", target, {"km": 6}, if_match='"x"')

    assert (late.status, json.loads(late.body)["current"]) == (412, [{"name": "Isar", "km": 2}])
    assert tag(late) == tag(written).partition("-")[0] + '"'
    assert (written.status, mended.status, last.status) == (200, 200, 204)
    assert (gone.status, json.loads(gone.body)["current"]) == (412, [])


async def test_of_many_writers_with_the_same_tag_one_wins(rest_pool: RestPool) -> None:
    await rest_pool.send("POST", "/rivers", {"id": 101, "name": "Aare", "km": 0})
    try:
        read = await rest_pool.send("GET", "/rivers?id=eq.101&select=km")
        answers = await asyncio.gather(
            *(
                rest_pool.send("PATCH", "/rivers?id=eq.101&select=km", {"km": number}, if_match=tag(read))
                for number in range(1, 9)
            )
        )
        kept = await rest_pool.send("GET", "/rivers?id=eq.101&select=km")
    finally:
        await rest_pool.send("DELETE", "/rivers?id=eq.101")

    statuses = sorted(answer.status for answer in answers)
    assert statuses == [204, *[412] * 7]
    assert rows(kept) == [{"km": [answer.status for answer in answers].index(204) + 1}]


@pytest.mark.parametrize(
    ("method", "target", "headers", "status"),
    [
        ("PATCH", "/rivers?id=eq.1", {"if_match": "*"}, 204),
        ("PATCH", "/rivers?id=eq.999", {"if_match": "*"}, 412),
        ("DELETE", "/rivers?id=eq.999", {"if_match": "*"}, 412),
        ("PUT", "/rivers?id=eq.1", {"if_none_match": "*"}, 412),
        ("PUT", "/rivers?id=eq.999", {"if_none_match": "*"}, 204),
        ("PUT", "/rivers?id=eq.999", {"if_match": "*"}, 412),
    ],
)
async def test_any_row_or_none_can_be_the_condition(
    trial: RestPool, method: str, target: str, headers: dict[str, str], status: int
) -> None:
    number = int(target.rpartition(".")[2])
    body = {"id": number, "name": f"river {number}"} if method == "PUT" else {"km": 1}

    answer = await trial.send(method, target, body, **headers)

    assert answer.status == status, answer


@pytest.mark.parametrize(
    "target",
    [
        "/rivers?id=lt.4&order=id&limit=2",
        "/rivers?id=lt.4&order=id&offset=1",
        "/rivers?id=lt.4&select=id,bridges!inner(id)&bridges.id=eq.1",
    ],
)
async def test_a_tag_of_a_page_is_not_that_of_the_rows_behind_it(trial: RestPool, target: str) -> None:
    read = await trial.send("GET", target)

    answer = await trial.send("PATCH", target, {"km": 1}, if_match=tag(read))
    whole = await trial.send("PATCH", target, {"km": 1}, if_match="*")

    assert answer.status == 412, answer
    assert "would change 3 rows" in json.loads(answer.body)["details"]
    assert whole.status == 204


async def test_conditions_do_not_touch_other_requests(trial: RestPool) -> None:
    created = await trial.send("POST", "/rivers", {"id": 110, "name": "x"}, if_match='"whatever"')
    headed = await trial.send("HEAD", "/rivers")
    called = await trial.send("GET", "/rpc/add_them?a=1", if_none_match="*")

    assert (created.status, headed.status, called.status) == (201, 200, 200)


async def test_what_is_demanded_of_the_write_is_demanded_still(trial: RestPool) -> None:
    read = await trial.send("GET", "/rivers?select=id")

    answer = await trial.send(
        "PATCH", "/rivers?select=id", {"km": 1}, if_match=tag(read), prefer="handling=strict,max-affected=1"
    )

    assert json.loads(answer.body)["code"] == "RESTERR124"
