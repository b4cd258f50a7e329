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
create table public.counted (id int primary key, secret text, is_open boolean);
insert into public.counted select n, case when n <= 1400 then 'TOP' else 'n' || n end, n > 1500 from generate_series(1, 3000) n;
alter table public.counted enable row level security;
create policy open on public.counted using (is_open);
create view public.counted_openly as select id, secret from public.counted where is_open;
create table public.counting (id int primary key, counted_id int references public.counted);
insert into public.counting select n, n from generate_series(1, 3000) n;
create table public.counted_by_all (id int primary key, name text);
insert into public.counted_by_all select n, 'x' from generate_series(1, 3000) n;
analyze public.counted, public.counting, public.counted_by_all;
grant select on public.counted, public.counted_openly, public.counting, public.counted_by_all to anon;
create table public.named (id int primary key, name text);
insert into public.named values (1, 'public.behind_the_curtain');
grant select on public.named to anon;
create table public.behind_the_curtain (curtained_key int primary key);
revoke all on public.behind_the_curtain from public, anon, authenticated;
create table public.half_open (id int primary key, shown text, curtained_column text, refers int references public.behind_the_curtain);
revoke all on public.half_open from public, anon, authenticated;
grant select (id, shown, refers) on public.half_open to anon;
create function public.half_open_call(shown_argument int) returns int language sql stable as $$ select 1 $$;
create function public.half_open_call(curtained_argument text) returns int language sql stable as $$ select 1 $$;
create function public.curtained_function() returns int language sql stable as $$ select 1 $$;
revoke all on function public.half_open_call(text), public.curtained_function() from public, anon, authenticated;
"""


@pytest.fixture(scope="module")
def notes(target: Platform) -> Platform:
    """The platform with tables whose policies read settings."""
    target.psql(_SCHEMA)
    target.psql("notify pgrst, 'reload schema'")
    target.wait_for_catalog("named")
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


def total(target: Platform, path: str, count: str) -> str:
    """Return the total of a read as `Content-Range` has it."""
    sent = {"apikey": target.values["ANON_KEY"], "prefer": f"count={count}", "range": "0-0"}
    with urllib.request.urlopen(
        urllib.request.Request(target.url + path, headers=sent), timeout=30
    ) as answer:
        return str(answer.headers["content-range"]).rpartition("/")[2]


def test_a_planned_count_tells_nothing_of_hidden_rows(notes: Platform) -> None:
    paths = {
        "/rest/v1/counted?secret=eq.TOP": "0",
        "/rest/v1/counted?or=(secret.eq.TOP,id.gt.2995)": "5",
        "/rest/v1/counted_openly?secret=eq.TOP": "0",
        "/rest/v1/counting?select=id,counted!inner(id)&counted.secret=eq.TOP": "0",
        "/rest/v1/counting?or=(counted(secret.eq.TOP))": "0",
        "/rest/v1/counted_by_all?name=eq.x": "3000",
    }

    assert {path: total(notes, path, "planned") for path in paths} == paths


def test_an_estimated_count_beyond_its_limit_does_not_depend_on_hidden_rows(notes: Platform) -> None:
    totals = {
        total(notes, f"/rest/v1/counted?or=(id.gt.1600,secret.eq.{guess})", "estimated")
        for guess in ("TOP", "MISSING")
    }

    assert len(totals) == 1


def test_casts_tell_nothing_of_the_catalog(notes: Platform) -> None:
    types = notes.psql(
        "select typname from pg_catalog.pg_type where typtype = 'p' or typname ~ '^_?reg' or typname = 'aclitem'"
    )
    names = [line.strip() for line in types.splitlines()[2:-2]]
    assert {"unknown", "regclass", "_regrole", "aclitem", "record"} <= set(names)

    answers = {
        f"{place}{name}": notes.get(f"/rest/v1/named?{place}{name}".replace(" ", "%20"))[0]
        for name in [*names, "REGCLASS", "setof text", "pg_node_tree"]
        for place in ("select=name::",)
    }
    filtered, _ = notes.get("/rest/v1/named?name::regclass=eq.x")

    assert {path: status for path, status in answers.items() if status != 400} == {}
    assert filtered == 400


_OPENAPI = ("application/openapi+json", "application/vnd.oai.openapi+json;version=3.1")
_INTROSPECTION = "{ __schema { types { name fields { name args { name } } inputFields { name } } } }"


def test_descriptions_leave_out_what_the_caller_has_no_right_to(notes: Platform) -> None:
    documents = [notes.get("/rest/v1/", {"accept": kind})[1].decode() for kind in _OPENAPI]
    documents.append(post(notes, "/graphql/v1", {"query": _INTROSPECTION})[1].decode())

    for document in documents:
        assert "half_open" in document
        assert "shown" in document
        assert "curtain" not in document
