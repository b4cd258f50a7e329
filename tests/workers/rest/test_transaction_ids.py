"""Which transaction wrote: docs/rest-additions.md, "Which transaction wrote"."""

import json

import pytest

from schemas.http import Response
from tests.workers.rest.rest_pool import RestPool
from workers.database.transactions.model import Statement, TransactionSpec

_MINIMAL = {"prefer": "return=minimal"}
_SHOWN = {"prefer": "return=representation"}
_MERGED = {"prefer": "return=representation,resolution=merge-duplicates"}
_WRITES = [
    ("POST", "/rivers", {"id": 501, "name": "t501"}, _MINIMAL),
    ("POST", "/rivers", [{"id": 502, "name": "t502"}, {"id": 503, "name": "t503"}], _MINIMAL),
    ("POST", "/rivers", [{"id": 504, "name": "t504"}, {"id": 505, "name": "t505"}], _SHOWN),
    ("POST", "/rivers", [{"id": 504, "name": "t506"}], _MERGED),
    ("POST", "/bridges?nested=true&select=name,rivers(name)", {"name": "t", "rivers": {"id": 507, "name": "t507"}}, _SHOWN),
    ("PATCH", "/rivers?id=gt.500", {"km": 7}, _SHOWN),
    ("PUT", "/rivers?id=eq.508", {"id": 508, "name": "t508", "km": 1, "meta": {}, "kind": "a"}, _SHOWN),
    ("POST", "/rpc/write_row", {}, {}),
]  # fmt: skip


def written_by(response: Response) -> str | None:
    return dict(response.headers).get("headwater-txid")


async def newest(rest_pool: RestPool) -> str:
    """Return the transaction of the row that was written last, as Postgres stores it in the row."""
    text = "select xmin::text from rivers order by age(xmin) limit 1"
    [[row]] = await rest_pool.pool.run(TransactionSpec([("role", "rest_service")], [Statement(text)]))
    assert row[0] is not None
    return row[0].decode()


@pytest.mark.parametrize(("method", "target", "body", "headers"), _WRITES)
async def test_a_write_names_the_transaction_of_its_rows(
    rest_pool: RestPool, method: str, target: str, body: object, headers: dict[str, str]
) -> None:
    response = await rest_pool.send(method, target, body, **headers)

    assert response.status < 300, response
    assert written_by(response) == await newest(rest_pool)


async def test_several_operations_have_one_transaction(rest_pool: RestPool) -> None:
    write = {"method": "POST", "path": "/rivers", "body": {"id": 510, "name": "t510"}}
    last = {"method": "PATCH", "path": "/rivers?id=eq.510", "body": {"km": 3}}
    response = await rest_pool.send("POST", "/", [write, last, {"method": "GET", "path": "/rivers?id=eq.1"}])

    answers = json.loads(response.body)
    assert written_by(response) == await newest(rest_pool)
    assert [answer["headers"].get("headwater-txid") for answer in answers] == [written_by(response)] * 2 + [
        None
    ]


@pytest.mark.parametrize(
    ("method", "target", "body", "headers"),
    [
        ("GET", "/rivers?id=eq.1", None, {}),
        ("PATCH", "/rivers?id=eq.-1", {"km": 7}, _SHOWN),
        ("DELETE", "/rivers?id=eq.-1", None, {}),
        ("POST", "/rpc/nothing", {}, {}),
        ("POST", "/rivers", {"id": 511, "name": "t511"}, {"prefer": "tx=rollback"}),
        ("POST", "/", [{"method": "POST", "path": "/rivers", "body": {"id": 512, "name": "t512"}}], {"prefer": "tx=rollback"}),
    ],
)  # fmt: skip
async def test_what_wrote_nothing_that_is_kept_names_none(
    rest_pool: RestPool, method: str, target: str, body: object, headers: dict[str, str]
) -> None:
    free = rest_pool.with_options(tx_end="commit-allow-override")

    response = await free.send(method, target, body, **headers)

    assert response.status < 300, response
    assert written_by(response) is None
    assert b"headwater-txid" not in response.body
