"""The rim: questions that are none, a database that is away, what is counted."""

import pytest

from broker.observability.observe import exposition
from schemas import realtime
from schemas.errors import ApiError, Unavailable
from schemas.http import Request
from schemas.realtime import ChangeSubscription, CheckQuery
from tests.workers.realtime.realtime_pool import ALICE, RealtimePool, claims_of
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.realtime.callers import DatabaseCaller
from workers.realtime.conditions import array_text
from workers.realtime.errors import MalformedQuery, UnknownQuery, is_passing
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.worker import RealtimeWorker, query_names


async def refused(realtime_pool: RealtimePool, path: str, body: bytes) -> ApiError:
    with pytest.raises(ApiError) as found:
        await RealtimeWorker(realtime_pool.pool, realtime_pool.numbers).answer(
            Request("r", "POST", path, body=body), Inline(body)
        )  # type: ignore[arg-type]  # as Body is read
    return found.value


async def test_an_unknown_question_is_refused(realtime_pool: RealtimePool) -> None:
    assert isinstance(await refused(realtime_pool, "/nothing", b""), UnknownQuery)


@pytest.mark.parametrize("path", [f"/{kind}" for kind in query_names()])
@pytest.mark.parametrize("body", [b"", b"\x80", b"\xff", b"\x81\xa4role\x01"])
async def test_what_is_no_question_is_refused(realtime_pool: RealtimePool, path: str, body: bytes) -> None:
    assert isinstance(await refused(realtime_pool, path, body), MalformedQuery)


async def test_claims_that_are_no_object_are_refused(realtime_pool: RealtimePool) -> None:
    table = await realtime_pool.table("id int primary key")

    with pytest.raises(MalformedQuery):
        await realtime_pool.visible(table, [[b"1"]], ("anon", b"[]"))


async def test_without_a_database_the_answer_is_to_come_later(realtime_pool: RealtimePool) -> None:
    pool = await ConnectionPool.open("postgresql://nobody:none@127.0.0.1:1/none", 1, acquire_timeout=0.1)
    away = RealtimePool("", pool, realtime_pool.admin, RealtimeMetrics())
    try:
        with pytest.raises(Unavailable):
            await away.visible("t", [[b"1"]], ("anon", b"{}"))
        with pytest.raises(Unavailable):
            await away.ask(
                realtime.CHECK,
                CheckQuery("anon", b"{}", [ChangeSubscription("*", "public", "t")]),
                CheckQuery,
            )
    finally:
        await pool.close()


async def test_questions_and_rules_are_counted_and_shown(realtime_pool: RealtimePool) -> None:
    numbers = RealtimeMetrics()
    counted = RealtimePool(realtime_pool.url, realtime_pool.pool, realtime_pool.admin, numbers)
    known = await realtime_pool.table("id int primary key, owner uuid", "owner = auth.uid()")
    unknown = await realtime_pool.table("id int primary key, owner uuid", "owner = auth.uid() or id > 3")
    hide = numbers.register(query_names())
    try:
        await counted.described(known)
        await counted.described(unknown)
        await counted.visible(known, [[b"1"]], ("anon", b"{}"))

        shown = exposition().decode()
    finally:
        hide()

    assert 'headwater_realtime_questions{question="table"} 2.0' in shown
    assert 'headwater_realtime_questions{question="visible"} 1.0' in shown
    assert 'headwater_realtime_rules{by="recognised"} 1.0' in shown
    assert 'headwater_realtime_rules{by="sql"} 1.0' in shown
    assert numbers.seconds["table"] > 0
    assert "headwater_realtime" not in exposition().decode()


def test_claims_always_name_the_role() -> None:
    told = DatabaseCaller("anon", b'{"role": "service_role", "n": 9007199254740993, "x": 1.50}').jwt_claims

    assert told == '{"role":"anon","n":9007199254740993,"x":1.50}'
    assert DatabaseCaller("anon", b"").jwt_claims == '{"role":"anon"}'
    assert DatabaseCaller("anon", b'{"sub": 5}').subject == ""
    assert DatabaseCaller("a", claims_of()).subject == ALICE


def test_lists_are_written_as_arrays() -> None:
    assert array_text(['a"b', "c\\d", ""]) == '{"a\\"b","c\\\\d",""}'
    assert array_text([]) == "{}"


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (DatabaseError("57P01", ""), True),
        (DatabaseError("53300", ""), True),
        (DatabaseError("55P03", ""), True),
        (DatabaseError("40P01", ""), True),
        (DatabaseError("57014", ""), False),
        (DatabaseError("42501", ""), False),
        (DatabaseError("53300", "", routine="exec_stmt_raise"), False),
    ],
)
def test_errors_that_say_nothing_of_the_question_pass(error: DatabaseError, passes: bool) -> None:
    assert is_passing(error) is passes
