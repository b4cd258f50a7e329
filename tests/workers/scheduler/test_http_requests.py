import asyncio
import json
from collections.abc import Callable
from uuid import UUID

import asyncpg
import pytest

from schemas.settings.scheduler import Net
from schemas.settings.types import Size
from tests.workers.database.server import connected
from tests.workers.scheduler.scheduler_pool import SchedulerPool, Service
from workers.http_client.client import FetchedResponse
from workers.scheduler.http_requests import HttpRequestRow, content_of, read_pairs
from workers.scheduler.pool import SchedulerCandidate

Begin = Callable[..., SchedulerCandidate]
LOCAL = ["127.0.0.0/8"]


@pytest.fixture
async def asker(project: asyncpg.Connection) -> asyncpg.Connection:
    """A connection of role postgres that finds the extension."""
    await project.execute(
        "create extension http with schema extensions; set search_path = public, extensions"
    )
    await project.execute("set http.timeout_msec = 20000")
    return project


@pytest.mark.parametrize(
    ("call", "method", "kind", "body"),
    [
        ("http_get($1)", "GET", None, b""),
        ("http_post($1, '{\"a\": 1}', 'application/json')", "POST", "application/json", b'{"a": 1}'),
        ("http_put($1, 'ü', 'text/plain')", "PUT", "text/plain", "ü".encode()),
        ("http_patch($1, '', 'text/plain')", "PATCH", "text/plain", b""),
        ("http_delete($1)", "DELETE", None, b""),
        ("http_delete($1, 'x', 'text/plain')", "DELETE", "text/plain", b"x"),
        ("http_head($1)", "HEAD", None, b""),
        (
            'http_post($1, \'{"a b": "é", "c": 1}\'::jsonb)',
            "POST",
            "application/x-www-form-urlencoded",
            b"c=1&a+b=%C3%A9",
        ),
    ],
)
async def test_each_method_is_sent_and_answered(
    asker: asyncpg.Connection,
    begin: Begin,
    service: Service,
    call: str,
    method: str,
    kind: str | None,
    body: bytes,
):
    begin(allow=LOCAL)

    row = await asker.fetchrow(f"select status, content_type, content from {call}", f"{service.url}/there")

    (heard,) = service.heard
    assert (heard[0], heard[1], heard[3]) == (method, "/there", body)
    if kind is not None:
        assert heard[2]["Content-Type"] == kind
    assert row is not None
    assert (row["status"], row["content_type"]) == (200, "application/json; charset=utf-8")
    assert row["content"] == ("" if method == "HEAD" else '{"path": "/there"}')


async def test_headers_and_parameters_go_and_come(asker: asyncpg.Connection, begin: Begin, service: Service):
    begin(allow=LOCAL)
    await asker.execute(
        "select http_set_curlopt('CURLOPT_USERAGENT', 'me'), http_set_curlopt('CURLOPT_USERPWD', 'ada:pw')"
    )

    came = await asker.fetchval(
        "select h.value from http(('get', $1, array[http_header('X-Own', '1'), ('Content-Length', '9')::http_header], null, null)),"
        " unnest(headers) as h where h.field = 'content-type'",
        f"{service.url}/a",
    )
    await asker.fetchval('select status from http_get($1, \'{"q": "a b"}\')', f"{service.url}/a?b=1")

    sent = service.heard[0][2]
    assert (sent["X-Own"], sent["User-Agent"], sent["Authorization"]) == ("1", "me", "Basic YWRhOnB3")
    assert "Content-Length" not in sent
    assert came == "application/json; charset=utf-8"
    assert service.heard[1][1] == "/a?b=1&q=a+b"


async def test_it_works_in_any_transaction(asker: asyncpg.Connection, begin: Begin, service: Service):
    begin(allow=LOCAL)

    for options in ({"isolation": "serializable"}, {"isolation": "repeatable_read"}, {"readonly": True}):
        async with asker.transaction(**options):
            await asker.fetchval("select 1")
            assert await asker.fetchval("select status from http_get($1)", service.url) == 200


async def test_many_wait_at_once(
    scheduler_pool: SchedulerPool, asker: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL, concurrency=3)

    async def one(number: int) -> str:
        async with connected(scheduler_pool.url("postgres")) as connection:
            await connection.execute("set http.timeout_msec = 20000")
            return str(
                await connection.fetchval(
                    "select content from extensions.http_get($1)", f"{service.url}/{number}"
                )
            )

    answers = await asyncio.gather(*(one(number) for number in range(10)))

    assert [json.loads(text)["path"] for text in answers] == [f"/{number}" for number in range(10)]
    assert await scheduler_pool.admin.fetchval("select count(*) from headwater.http_answers") == 0


async def test_who_does_not_answer_in_time_is_told_of(
    asker: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)
    await asker.fetchval("select http_get($1)", service.url)  # the scheduler leads by now
    await asker.execute("select http_set_curlopt('CURLOPT_TIMEOUT_MS', '300')")

    with pytest.raises(asyncpg.ConnectionFailureError, match=r"^no answer within \d+ ms\n") as caught:
        await asker.execute(f"select http_get('{service.url}/hang')")

    assert caught.value.hint == "More time: select http_set_curlopt('CURLOPT_TIMEOUT_MS', '20000')."


async def test_redirects_are_followed_as_far_as_the_options_let(
    asker: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)
    url = f"{service.url}/to-echo"
    assert json.loads(await asker.fetchval("select content from http_get($1)", url)) == {"path": "/echo"}

    await asker.execute("select http_set_curlopt('CURLOPT_FOLLOWLOCATION', '0')")
    assert await asker.fetchval("select status from http_get($1)", url) == 307

    await asker.execute("select http_reset_curlopt(), http_set_curlopt('CURLOPT_MAXREDIRS', '0')")
    assert await asker.fetchval("select status from http_get($1)", url) == 307


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://localhost/",
        "http://169.254.169.254/latest",
        "http://[::1]/",
        "http://10.0.0.1/",
    ],
)
async def test_private_addresses_are_refused(asker: asyncpg.Connection, begin: Begin, url: str):
    begin()

    with pytest.raises(
        asyncpg.ConnectionFailureError, match=r"^the host is at a private address\n"
    ) as caught:
        await asker.execute(f"select http_get('{url}')")

    assert caught.value.hint == "The operator may allow it: setting net.allow."


async def test_a_redirect_to_a_private_address_is_refused(
    asker: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=[f"127.0.0.1:{service.port}"])

    with pytest.raises(asyncpg.ConnectionFailureError, match=r"^the host is at a private address\n"):
        await asker.execute(f"select http_get('{service.url}/to-metadata')")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "the address is no URL of http or https"),
        ("http://127.0.0.1:1/", "no connection could be made"),
    ],
)
async def test_why_there_is_no_answer_is_told(asker: asyncpg.Connection, begin: Begin, url: str, words: str):
    begin(allow=LOCAL)

    with pytest.raises(asyncpg.ConnectionFailureError, match=f"^{words}$"):
        await asker.execute(f"select http_get('{url}')")


async def test_an_answer_that_is_too_long_is_an_error(
    asker: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL, max_answer=Size(4999))

    with pytest.raises(asyncpg.ConnectionFailureError, match=r"^the answer is longer than 4999 bytes$"):
        await asker.execute(f"select http_get('{service.url}/long')")


async def test_bytes_that_are_no_text_come_whole(asker: asyncpg.Connection, begin: Begin, service: Service):
    begin(allow=LOCAL)

    found = await asker.fetchval("select text_to_bytea(content) from http_get($1)", f"{service.url}/nul")

    assert found == b"a\0b\xff"


async def test_roles_of_the_api_may_send(
    scheduler_pool: SchedulerPool, asker: asyncpg.Connection, begin: Begin, service: Service
):
    begin(allow=LOCAL)

    async with scheduler_pool.admin.transaction():
        await scheduler_pool.admin.execute("set local role anon; set local http.timeout_msec = 20000")
        assert (
            await scheduler_pool.admin.fetchval("select status from extensions.http_get($1)", service.url)
            == 200
        )


async def test_a_canceled_wait_leaves_nothing_behind(
    scheduler_pool: SchedulerPool, asker: asyncpg.Connection, service: Service
):
    await asker.execute("set statement_timeout = '200ms'; set http.timeout_msec = 2000")

    with pytest.raises(asyncpg.QueryCanceledError):
        await asker.execute(f"select http_get('{service.url}/hang')")

    await scheduler_pool.until(
        "select where not exists (select from pg_stat_activity where application_name = 'http' and datname = $1)",
        scheduler_pool.name,
    )


async def test_an_answer_that_cannot_be_stored_ends_no_other_work(
    scheduler_pool: SchedulerPool, asker: asyncpg.Connection, begin: Begin, service: Service
):
    """A passing error is tried again; of a lasting one the session receives the reason. Requests of pg_net beside it go on."""
    begin(allow=LOCAL)
    await asker.fetchval("select http_get($1)", service.url)
    await scheduler_pool.admin.execute("""
        create sequence public.tries;
        create function public.refuse() returns trigger language plpgsql security definer as $$ begin
          if nextval('public.tries') in (1, 3) then raise exception 'no space' using errcode = '53100'; end if;
          if to_jsonb(new)::text ~ 'never|6e65766572' then raise exception 'not this' using errcode = '22P05'; end if;
          return new;
        end $$;
        create trigger refuse before insert on headwater.http_answers for each row execute function public.refuse();
        create trigger refuse before insert on net._http_response for each row execute function public.refuse();
    """)
    leader = "select pid from pg_stat_activity where usename = 'headwater_scheduler' and datname = $1"
    before = await scheduler_pool.admin.fetch(leader, scheduler_pool.name)

    assert await asker.fetchval("select status from http_get($1)", f"{service.url}/once") == 200
    with pytest.raises(
        asyncpg.ConnectionFailureError, match="the answer could not be stored: SQLSTATE 22P05"
    ):
        await asker.fetchval("select status from http_get($1)", f"{service.url}/never")
    paths = ("/a", "/never", "/b")
    ids = [await asker.fetchval("select net.http_get($1)", service.url + path) for path in paths]
    await scheduler_pool.until(
        "select where (select count(*) from net._http_response where id = any($1)) = 2", ids
    )

    stored = await asker.fetch("select content from net._http_response")
    assert sorted(json.loads(row["content"])["path"] for row in stored) == ["/a", "/b"]
    assert await scheduler_pool.admin.fetch(leader, scheduler_pool.name) == before


@pytest.mark.parametrize(
    ("kind", "body", "kept"),
    [
        ("text/plain; charset=iso-8859-1", "ü".encode("latin-1"), "ü".encode()),
        ("application/json", b'"\xff\0"', '"\ufffd"'.encode()),
        ("image/svg+xml; charset=nonsense", b"<svg/>", b"<svg/>"),
        ("text/plain; charset=undefined", "ü".encode(), "ü".encode()),
        ("image/png", b"\x89PNG\0\xff", b"\x89PNG\0\xff"),
        (None, b"\0\xff", b"\0\xff"),
    ],
)
def test_text_is_kept_as_text_and_everything_else_as_it_is(kind: str | None, body: bytes, kept: bytes):
    headers = {} if kind is None else {"content-type": kind}

    assert content_of(FetchedResponse(200, headers, body)) == kept


def test_headers_of_one_name_become_one_and_framing_is_left_out():
    pairs = (
        '[["Accept", "a"], ["accept", "b"], ["Content-Length", "9"], ["transfer-encoding", "x"], ["X", "1"]]'
    )

    assert read_pairs(pairs) == {"Accept": "a, b", "X": "1"}


def test_settings_bound_what_is_asked():
    assert HttpRequestRow(UUID(int=0), "GET", "http://h", "[]", None, 5, 1.0).left_s == 1.0
    assert Net().concurrency > 0
