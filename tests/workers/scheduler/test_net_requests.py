import asyncio
import json
from collections.abc import AsyncIterator, Callable
from email.message import Message

import asyncpg
import pytest

from schemas.settings.scheduler import Net
from schemas.settings.tree import Api, Settings
from schemas.settings.types import Duration, Size
from tests.broker.server import NatsServer
from tests.workers.database.server import Server
from tests.workers.scheduler.conftest import opened_scheduler_pool
from tests.workers.scheduler.scheduler_pool import SchedulerPool, Service
from workers.http_client.project_guard import guard_of
from workers.scheduler.net_requests import NetResponse, decoded, read_headers, writable_at_once
from workers.scheduler.pool import SchedulerCandidate

Begin = Callable[..., SchedulerCandidate]
LOCAL = ["127.0.0.0/8"]

DEEP = '{"a":' + "[" * 2000 + "]" * 2000 + "}"
"""More levels than a decoder follows."""


@pytest.fixture(scope="module")
async def shared(cluster: Server, template: str, broker: NatsServer) -> AsyncIterator[SchedulerPool]:
    """One database for these tests: making one takes longer than any of them."""
    async with opened_scheduler_pool(cluster, template, broker) as one:
        yield one


@pytest.fixture
async def scheduler_pool(shared: SchedulerPool) -> AsyncIterator[SchedulerPool]:
    """The database without anything of another test in it."""
    yield shared
    await shared.close()
    await shared.admin.execute("truncate net.http_request_queue, net._http_response; delete from cron.job")


async def response(scheduler_pool: SchedulerPool, id: int) -> asyncpg.Record:
    return (await scheduler_pool.until("select * from net._http_response where id = $1", id))[0]


async def post(project: asyncpg.Connection, url: str, timeout: int = 5000) -> int:
    return int(
        await project.fetchval(
            "select net.http_post($1, '{\"a\": 1}', timeout_milliseconds := $2)", url, timeout
        )
    )


async def test_a_request_is_sent_after_the_commit_and_its_answer_kept(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)

    async with project.transaction():
        id = await project.fetchval(
            """select net.http_post($1, '{"a": "ü"}', '{"q": "é &"}', '{"X-Own": "1", "content-length": "9"}')""",
            f"{service.url}/echo?b=1",
        )
    found = await response(scheduler_pool, id)

    method, path, headers, body = service.heard[0]
    assert (method, path, json.loads(body)) == ("POST", "/echo?b=1&q=%C3%A9%20%26", {"a": "ü"})
    assert (headers["X-Own"], headers["Content-Type"]) == ("1", "application/json")
    assert (found["status_code"], found["content_type"]) == (200, "application/json; charset=utf-8")
    assert (found["timed_out"], found["error_msg"], json.loads(found["content"])) == (
        False,
        None,
        {"path": "/echo"},
    )
    assert await project.fetchval("select count(*) from net.http_request_queue") == 0


async def test_a_rollback_sends_nothing(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)
    transaction = project.transaction()
    await transaction.start()
    await post(project, f"{service.url}/never")
    await transaction.rollback()

    await response(scheduler_pool, await post(project, f"{service.url}/echo"))

    assert [path for _, path, *_ in service.heard] == ["/echo"]


async def test_what_waited_is_sent_when_a_scheduler_comes(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    ids = [await post(project, f"{service.url}/{number}") for number in range(5)]

    begin(allow=LOCAL, concurrency=2)

    for id in ids:
        assert (await response(scheduler_pool, id))["status_code"] == 200


async def test_get_and_delete_are_sent(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)
    got = await project.fetchval('select net.http_get($1, params := \'{"a": "1"}\')', f"{service.url}/got")
    await response(scheduler_pool, got)
    gone = await project.fetchval("select net.http_delete($1)", f"{service.url}/gone")
    await response(scheduler_pool, gone)

    assert [(method, path) for method, path, *_ in service.heard] == [
        ("GET", "/got?a=1"),
        ("DELETE", "/gone"),
    ]


async def test_who_does_not_answer_in_time_has_timed_out(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)

    found = await response(scheduler_pool, await post(project, f"{service.url}/hang", 200))

    assert (found["timed_out"], found["error_msg"]) == (True, "Timeout of 200 ms reached")


async def test_an_answer_that_is_too_long_is_an_error(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL, max_answer=Size(4999))

    found = await response(scheduler_pool, await post(project, f"{service.url}/long"))

    assert (found["status_code"], found["error_msg"]) == (None, "the answer is longer than 4999 bytes")


async def test_bytes_that_are_no_text_are_kept_as_far_as_they_are(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)

    assert (await response(scheduler_pool, await post(project, f"{service.url}/nul")))[
        "content"
    ] == "ab\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254",
        "10.0.0.1", "2130706433", "0x7f.1", "127.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "a@127.0.0.1",
    ],
)  # fmt: skip
async def test_private_addresses_are_refused(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service, host: str
):
    begin()

    found = await response(scheduler_pool, await post(project, f"http://{host}:{service.port}/echo"))

    assert found["error_msg"] == "the host is at a private address"
    assert service.heard == []


async def test_a_redirect_is_followed_and_judged_anew(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=[f"127.0.0.1:{service.port}"])

    followed = await response(scheduler_pool, await post(project, f"{service.url}/to-echo"))
    refused = await response(scheduler_pool, await post(project, f"{service.url}/to-metadata"))

    assert json.loads(followed["content"]) == {"path": "/echo"}
    assert refused["error_msg"] == "the host is at a private address"


async def test_what_is_no_request_is_an_error_in_words(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    begin()

    for url in ("no url", "ftp://a.org/", "http://"):
        found = await response(scheduler_pool, await post(project, url))
        assert found["error_msg"] == "the address is no URL of http or https"


async def test_the_platforms_own_gateway_is_reached_under_its_names(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(Settings(api=Api(port=service.port)))

    for origin in (
        service.url,
        f"http://localhost:{service.port}",
        "http://kong:8000",
        f"http://host.docker.internal:{service.port}",
    ):
        found = await response(scheduler_pool, await post(project, f"{origin}/functions/v1/hello?a=1"))
        assert found["status_code"] == 200
    found = await response(scheduler_pool, await post(project, f"{service.url}/metrics"))

    assert found["error_msg"] == "the host is at a private address"
    assert {path for _, path, *_ in service.heard} == {"/functions/v1/hello?a=1"}


async def test_old_answers_are_dropped(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin
):
    await scheduler_pool.admin.execute(
        "insert into net._http_response (id, created) values (1, now() - interval '7 hours'), (2, now())"
    )

    begin()
    await scheduler_pool.until(
        "select from (select count(*) as left from net._http_response) as counted where counted.left = 1"
    )

    assert await scheduler_pool.admin.fetchval("select id from net._http_response") == 2


async def test_many_requests_are_each_sent_once(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)
    begin(allow=LOCAL)

    await project.execute(
        "select net.http_post($1, jsonb_build_object('n', n)) from generate_series(1, 500) n",
        f"{service.url}/echo",
    )
    await scheduler_pool.until(
        "select from (select count(*) from net._http_response) as all_of_them where count = 500"
    )

    assert sorted(body["n"] for body in service.bodies()) == list(range(1, 501))


async def test_a_stopping_scheduler_finishes_what_is_underway(
    scheduler_pool: SchedulerPool, project: asyncpg.Connection, begin: Begin, service: Service
):
    scheduler = begin(allow=LOCAL)
    id = await post(project, f"{service.url}/hang")
    async with asyncio.timeout(60):
        while not service.heard:
            await asyncio.sleep(0.01)

    closing = asyncio.create_task(scheduler.close())
    await asyncio.sleep(0)
    service.hang.set()
    await closing

    assert (
        await scheduler_pool.admin.fetchval("select status_code from net._http_response where id = $1", id)
        == 200
    )


def test_headers_that_frame_a_request_are_left_out():
    given = '{"Content-Length": "1", "Transfer-Encoding": "x", "A": 1, "B": null, "c": "d"}'

    assert read_headers(given) == {"A": "1", "c": "d"}
    assert read_headers(None) == read_headers("null") == read_headers(DEEP) == {}
    assert read_headers('{"far": 1e400, "text": "a\\"b", "in": {"x": [1]}}') == {
        "far": "1e400",
        "text": 'a"b',
        "in": '{"x": [1]}',
    }


@pytest.mark.parametrize("charset", ["idna", "undefined", "punycode", "hex", "no such", "a\0b"])
def test_a_text_has_a_form_whatever_its_charset_is_called(charset: str):
    message = Message()
    message["content-type"] = f"text/plain; charset={charset}"

    assert decoded("ü".encode(), message) == "ü"


def test_responses_are_written_up_to_a_size():
    answers = [NetResponse(number, content="x" * (6 << 20)) for number in range(4)]

    assert [answer.id for answer in writable_at_once(answers)] == [0, 1]
    assert [answer.id for answer in writable_at_once(answers[3:])] == [3]
    assert writable_at_once([NetResponse(9, content="x" * (20 << 20))])
    assert writable_at_once([]) == []


def test_an_entry_that_is_no_place_is_refused():
    with pytest.raises(ValueError, match="neither a network"):
        guard_of(Settings(net=Net(allow=["http://a/b c"], keep_answers=Duration(1))))
