"""What triggers of the project on auth.users do to accounts, and that who is refused by one reads its own words.

Reference, sections 1.2 and 28. A trigger here raises for those rows only whose metadata or address ask for it.
"""

import json
import logging
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import structlog

from broker.observability import observe
from schemas.http import Response
from tests.workers.auth.auth_pool import ADMIN, PASSWORD, Y2024, AuthPool, address, told
from tests.workers.auth.office import Office, landed

HINT, DETAIL = "write to us", "42 of 42 are here"
RAISED = {
    "raise": (500, "P0001", "the valley is full"),
    "status": (403, "PT403", "members only"),
    "nonsense": (500, "PT999", "no such status"),
    "taken": (500, "23505", 'duplicate key value violates unique constraint "{table}_handle_key"'),
    "check": (
        500,
        "23514",
        'new row for relation "{table}" violates check constraint "{table}_handle_check"',
    ),
    "absent": (
        500,
        "23502",
        'null value in column "handle" of relation "{table}" violates not-null constraint',
    ),
}
WISHES = [*RAISED]


class Valley:
    """A table of the project that a trigger fills, and the trigger's whims."""

    def __init__(self, auth_pool: AuthPool, table: str) -> None:
        self.auth_pool, self.table = auth_pool, table

    def refusal(self, wish: str) -> tuple[int, str, str]:
        status, sqlstate, message = RAISED[wish]
        return status, sqlstate, message.format(table=self.table)

    def check(self, response: Response, wish: str) -> None:
        """See that a refusal has the trigger's words, in the shape that was asked for."""
        status, sqlstate, message = self.refusal(wish)
        body = json.loads(response.body)
        assert response.status == status, response
        assert (body["code"], body["message"]) == (sqlstate, message)
        if told(response, "x-supabase-api-version") != Y2024:
            assert (body["msg"], body["error_code"]) == (message, "unexpected_failure")
            assert told(response, "x-sb-error-code") == "unexpected_failure"
        if wish in ("raise", "status", "nonsense"):
            assert (body["hint"], body["detail"]) == (HINT, DETAIL)


FUNCTION = """
create function public.{name}() returns trigger language plpgsql security definer set search_path = '' as $$
declare wish text := new.raw_user_meta_data ->> 'wish';
begin
  case wish
    when 'raise' then raise exception 'the valley is full' using hint = '{hint}', detail = '{detail}';
    when 'status' then raise sqlstate 'PT403' using message = 'members only', hint = '{hint}', detail = '{detail}';
    when 'nonsense' then raise sqlstate 'PT999' using message = 'no such status', hint = '{hint}', detail = '{detail}';
    when 'taken' then insert into public.{name} values ('taken');
    when 'check' then insert into public.{name} values ('');
    when 'absent' then insert into public.{name} values (null);
    when 'missing' then insert into public.no_such_table values (1);
    when 'cast' then perform (new.raw_user_meta_data ->> 'secret')::int;
    when 'rename' then new.raw_user_meta_data := new.raw_user_meta_data || '{{"name": "by the trigger"}}';
    else null;
  end case;
  return new;
end $$"""


@pytest.fixture
async def valley(auth_pool: AuthPool) -> AsyncIterator[Valley]:
    name = f"valley_{uuid.uuid4().hex[:8]}"
    statements = [
        f"create table public.{name} (handle text not null unique check (handle <> ''))",
        f"insert into public.{name} values ('taken')",
        FUNCTION.format(name=name, hint=HINT, detail=DETAIL),
        f"create trigger {name} before insert or update on auth.users for each row execute function public.{name}()",
    ]
    for statement in statements:
        await auth_pool.admin.execute(statement)
    yield Valley(auth_pool, name)
    await auth_pool.admin.execute(f"drop trigger {name} on auth.users")
    await auth_pool.admin.execute(f"drop function public.{name}")
    await auth_pool.admin.execute(f"drop table public.{name}")


async def both(
    auth_pool: AuthPool, method: str, path: str, body: object, caller: Any = None
) -> list[Response]:
    """Send a request in both versions of the interface."""
    given = {} if caller is None else {"caller": caller}
    return [
        await auth_pool.send(method, path, body, **given),
        await auth_pool.send(method, path, body, **given, x_supabase_api_version=Y2024),
    ]


@pytest.mark.parametrize("wish", WISHES)
async def test_a_sign_up_that_a_trigger_refuses_is_told_why_and_leaves_nothing(
    auth_pool: AuthPool, valley: Valley, wish: str
):
    email = address()
    body = {"email": email, "password": PASSWORD, "data": {"wish": wish}}

    for response in await both(auth_pool, "POST", "/signup", body):
        valley.check(response, wish)
    anonymous = {"data": {"wish": wish}}
    for response in await both(auth_pool, "POST", "/signup", anonymous):
        valley.check(response, wish)
    assert not await auth_pool.value("select count(*) from auth.users where email = $1", email)


@pytest.mark.parametrize("wish", WISHES)
async def test_so_is_an_admin_who_makes_or_changes_an_account(auth_pool: AuthPool, valley: Valley, wish: str):
    data = {"user_metadata": {"wish": wish}}
    user = await auth_pool.ok("POST", "/admin/users", {"email": address()}, ADMIN)

    for response in await both(auth_pool, "POST", "/admin/users", {"email": address(), **data}, ADMIN):
        valley.check(response, wish)
    for response in await both(auth_pool, "PUT", f"/admin/users/{user['id']}", data, ADMIN):
        valley.check(response, wish)
    for response in await both(
        auth_pool, "POST", "/invite", {"email": address(), "data": {"wish": wish}}, ADMIN
    ):
        valley.check(response, wish)
    link = {"type": "magiclink", "email": address(), "data": {"wish": wish}}
    for response in await both(auth_pool, "POST", "/admin/generate_link", link, ADMIN):
        valley.check(response, wish)
    assert (await auth_pool.ok("GET", f"/admin/users/{user['id']}", None, ADMIN))["user_metadata"] == {}


@pytest.mark.parametrize("wish", WISHES)
async def test_so_is_a_user_who_changes_his_account(auth_pool: AuthPool, valley: Valley, wish: str):
    signed = await auth_pool.sign_up()
    other = await auth_pool.sign_in(signed.email)

    body = {"data": {"wish": wish}, "password": "another one"}
    for response in await both(auth_pool, "PUT", "/user", body, signed.caller):
        valley.check(response, wish)

    await auth_pool.sign_in(signed.email)
    await auth_pool.ok("GET", "/user", None, other.caller)


async def test_a_link_leads_on_with_the_words_of_the_trigger_and_stays_good(
    mailed: AuthPool, office: Office, valley: Valley
):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})
    id = await mailed.value("select id from auth.users where email = $1", email)
    await _wish(mailed, id, "raise")

    _, _, told_there = landed(await mailed.send("GET", office.path(email)))
    body = {"type": "signup", "email": email, "token": office.code(email)}
    for response in await both(mailed, "POST", "/verify", body):
        valley.check(response, "raise")
    await _wish(mailed, id, "none")

    assert (told_there["error"], told_there["error_description"]) == ("server_error", "the valley is full")
    assert "access_token" in landed(await mailed.send("GET", office.path(email)))[2]


async def _wish(auth_pool: AuthPool, id: uuid.UUID, wish: str) -> None:
    await auth_pool.admin.execute("set session_replication_role = replica")
    data = json.dumps({"wish": wish})
    await auth_pool.admin.execute("update auth.users set raw_user_meta_data = $2 where id = $1", id, data)
    await auth_pool.admin.execute("set session_replication_role = origin")


async def test_an_account_that_a_trigger_keeps_stays_and_the_admin_reads_why(
    auth_pool: AuthPool, valley: Valley
):
    signed = await auth_pool.sign_up()
    name = valley.table
    await auth_pool.admin.execute(
        f"create function public.{name}_stay() returns trigger language plpgsql as"
        " $$ begin raise exception 'nobody leaves the valley'; end $$"
    )
    await auth_pool.admin.execute(
        f"create trigger {name}_stay before delete on auth.users for each row execute function public.{name}_stay()"
    )
    try:
        answers = await both(auth_pool, "DELETE", f"/admin/users/{signed.id}", {}, ADMIN)
    finally:
        await auth_pool.admin.execute(f"drop trigger {name}_stay on auth.users")
        await auth_pool.admin.execute(f"drop function public.{name}_stay")

    assert [(each.status, json.loads(each.body)["message"]) for each in answers] == [
        (500, "nobody leaves the valley"), (500, "nobody leaves the valley"),
    ]  # fmt: skip
    await auth_pool.ok("GET", "/user", None, signed.caller)


async def test_what_a_trigger_writes_shows_in_the_answer(auth_pool: AuthPool, valley: Valley):
    signed = await auth_pool.sign_up(data={"wish": "rename"})
    made = await auth_pool.ok(
        "POST", "/admin/users", {"email": address(), "user_metadata": {"wish": "rename"}}, ADMIN
    )
    changed = await auth_pool.ok("PUT", "/user", {"data": {"name": "his own"}}, signed.caller)

    for user in (signed.body["user"], made, changed):
        assert user["user_metadata"]["name"] == "by the trigger"
    assert valley.table


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """Put the logs back to where they went, once a test has had them for itself."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    observe.configure()
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("logging_restored")
async def test_a_defect_of_a_trigger_is_told_to_the_log_with_its_function_and_no_value(
    auth_pool: AuthPool, valley: Valley, capsys: pytest.CaptureFixture[str]
):
    observe.configure(format="json")
    answers = []
    for data in ({"wish": "missing"}, {"wish": "cast", "secret": "4711-is-my-pin"}):
        body = {"email": address(), "password": PASSWORD, "data": data}
        answers.append(json.loads((await auth_pool.send("POST", "/signup", body)).body))

    logged = capsys.readouterr().err
    assert {each["msg"] for each in answers} == {"Database error saving new user"}
    lines = [json.loads(line) for line in logged.splitlines() if "ChangeRejected" in line]
    assert [line["sqlstate"] for line in lines] == ["42P01", "22P02"]
    assert all(f"function public.{valley.table}()" in line["function"] for line in lines)
    assert [line["reason"] for line in lines] == ['relation "public.no_such_table" does not exist', ""]
    assert "4711" not in logged


async def test_a_session_that_a_trigger_puts_away_leaves_no_trace_of_its_sign_in(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    name, seen = f"leaving_{uuid.uuid4().hex[:8]}", "select last_sign_in_at from auth.users where email = $1"
    before = await auth_pool.value(seen, signed.email)
    await auth_pool.admin.execute(
        f"create function public.{name}() returns trigger language plpgsql security definer as "
        "$$ begin delete from auth.sessions where user_id = new.id; return null; end $$"
    )
    await auth_pool.admin.execute(
        f"create trigger {name} after update on auth.users for each row "
        f"when (new.email = '{signed.email}') execute function public.{name}()"
    )

    body = {"email": signed.email, "password": PASSWORD}
    try:
        response = await auth_pool.send("POST", "/token?grant_type=password", body)
    finally:
        await auth_pool.admin.execute(f"drop function public.{name} cascade")

    assert told(response, "x-sb-error-code") == "session_not_found"
    assert await auth_pool.value(seen, signed.email) == before
