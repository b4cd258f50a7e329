"""One caller reads or writes what is another's, over REST and GraphQL."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping

import pytest

from tests.platform import Platform

_SCHEMA = """
create table public.notes_of (id int primary key, owner text, body text);
alter table public.notes_of enable row level security;
create policy own on public.notes_of using (owner is null or owner = current_setting('app.owner', true));
create table public.notes_by_sub (id int primary key, owner uuid, body text);
alter table public.notes_by_sub enable row level security;
insert into public.notes_by_sub values (1, '11111111-1111-1111-1111-111111111111', 'TOP SECRET');
create policy own on public.notes_by_sub using (owner = auth.uid());
create table public.note_admins (name text);
create function public.act_as(who text, is_local boolean) returns text language plpgsql volatile as $$
  begin return set_config('app.owner', who, is_local); end $$;
create function public.peek_as(who text) returns text language plpgsql stable as $$
  begin return set_config('app.owner', who, true); end $$;
create function public.become(sub text) returns text language sql volatile as
  $$ select set_config('request.jwt.claim.sub', sub, true) $$;
create function public.become_role(other text) returns text language sql volatile as
  $$ select set_config('role', other, true) $$;
create function public.plant_admin() returns void language plpgsql volatile as
  $$ begin create temp table note_admins as select 'anon'::text as name; end $$;
create function public.is_admin() returns boolean language plpgsql stable as
  $$ begin return exists (select from note_admins where name = 'anon'); end $$;
create function public.open_cursor() returns text language plpgsql volatile as $$
  declare seen refcursor := 'left_open';
  begin open seen for select 1; return 'opened'; end $$;
create function public.open_cursors() returns int language sql volatile as
  $$ select count(*)::int from pg_catalog.pg_cursors where name = 'left_open' $$;
create function public.keep_lock() returns void language sql volatile as $$ select pg_advisory_lock(4711) $$;
create function public.kept_locks() returns int language sql volatile as
  $$ select count(*)::int from pg_catalog.pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and objid = 4711 $$;
create function public.owned(public.notes_of) returns text language sql volatile as
  $$ select set_config('app.owner', 'bob', true) $$;
grant all on public.notes_of, public.notes_by_sub, public.note_admins to anon;
"""


@pytest.fixture(scope="module")
def notes(target: Platform) -> Platform:
    """The platform with tables whose policies read settings."""
    target.psql(_SCHEMA)
    target.psql("notify pgrst, 'reload schema'")
    target.wait_for_catalog("notes_by_sub")
    return target


@pytest.fixture(autouse=True)
def rows(notes: Platform) -> None:
    """Write the rows anew: an attack that succeeds must not make the next one fail."""
    notes.psql(
        "delete from public.notes_of; insert into public.notes_of values"
        " (1, 'ann', 'TOP SECRET'), (2, 'bob', 'PLAIN'), (3, null, 'EVERYBODY')"
    )


def post(
    target: Platform, path: str, body: object, method: str = "POST", **headers: str
) -> tuple[int, bytes]:
    """Send JSON with the public key."""
    sent = {"apikey": target.values["ANON_KEY"], "content-type": "application/json", **headers}
    request = urllib.request.Request(target.url + path, json.dumps(body).encode(), sent, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def batch(target: Platform, *operations: Mapping[str, object]) -> list[object]:
    """Return the bodies of a batch's answers."""
    status, body = post(target, "/rest/v1/", list(operations))
    assert status == 200, body
    return [each["body"] for each in json.loads(body)]


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"method": "POST", "path": f"/rpc/{name}", "body": arguments}


_SHOWN = {"Prefer": "return=representation"}


@pytest.mark.parametrize("is_local", [True, False], ids=["local", "session"])
def test_a_setting_of_a_function_does_not_reach_the_next_operation_of_a_batch(
    notes: Platform, is_local: bool
) -> None:
    acting = call("act_as", who="ann", is_local=is_local)

    found = batch(
        notes,
        acting,
        {"method": "GET", "path": "/notes_of?select=body&id=lt.3"},
        acting,
        {"method": "PATCH", "path": "/notes_of?id=eq.1", "body": {"body": "overwritten"}, "headers": _SHOWN},
        acting,
        {"method": "DELETE", "path": "/notes_of?id=eq.1", "headers": _SHOWN},
    )

    assert found == ["ann", [], "ann", [], "ann", []]
    assert "TOP SECRET" in notes.psql("select body from public.notes_of")


def test_a_claim_that_a_function_sets_makes_the_next_operation_no_other_user(notes: Platform) -> None:
    owner = "11111111-1111-1111-1111-111111111111"

    found = batch(notes, call("become", sub=owner), {"method": "GET", "path": "/notes_by_sub?select=body"})

    assert found == [owner, []]


def test_role_tables_cursors_and_locks_of_an_operation_end_with_it(notes: Platform) -> None:
    found = batch(
        notes,
        call("become_role", other="service_role"),
        {"method": "GET", "path": "/notes_of?select=body&id=lt.3"},
        call("plant_admin"),
        call("is_admin"),
        call("open_cursor"),
        call("open_cursors"),
        call("keep_lock"),
        call("kept_locks"),
    )

    assert found == ["service_role", [], None, False, "opened", 0, None, 0]


def test_a_function_called_by_the_read_of_a_conditional_write_does_not_reach_the_write(
    notes: Platform,
) -> None:
    # The read finds row 3, whose computed column makes its caller bob; then the write would find row 2 as well.
    status, body = post(
        notes,
        "/rest/v1/notes_of?select=id,owned&id=in.(2,3)",
        {"body": "overwritten"},
        "PATCH",
        **{"if-none-match": '"none"', "prefer": "return=representation"},
    )

    assert (status, json.loads(body)) == (200, [{"id": 3, "owned": "bob"}])
    assert "overwritten" not in notes.psql("select body from public.notes_of where id = 2")


def test_a_setting_of_a_graphql_field_does_not_reach_the_next_field(notes: Platform) -> None:
    reading = (
        '{ a: peek_as(who: "ann") notes_ofCollection(filter: {id: {lt: 3}}) { edges { node { body } } } }'
    )
    writing = (
        'mutation { a: act_as(who: "ann", is_local: true)'
        ' updatenotes_ofCollection(set: {body: "overwritten"}, filter: {id: {lt: 3}}, atMost: 10) { records { body } } }'
    )

    read = post(notes, "/graphql/v1", {"query": reading})
    written = post(notes, "/graphql/v1", {"query": writing})

    assert json.loads(read[1]) == {"data": {"a": "ann", "notes_ofCollection": {"edges": []}}}
    assert json.loads(written[1]) == {"data": {"a": "ann", "updatenotes_ofCollection": {"records": []}}}
    assert "overwritten" not in notes.psql("select body from public.notes_of")
