"""Hostile code beside keyed writes: reading the answer of another caller, making one up, removing one, using up all keys.

The tenant is role postgres, its functions that run inside of keyed transactions (where `reset role` makes them the data pools'
login), and its clients. The tenant may know `auth.jwt_secret` (`db.expose_jwt_secret`) and may read the log of
Postgres by a replication slot of its own.
"""

import uuid
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.attacks.client import Received, send
from tests.attacks.conftest import access_token
from tests.attacks.probe import run_sql, superuser_url
from tests.platform import Platform, platform
from workers.idempotency.key import KeyedRequest
from workers.idempotency.record import RecordSealer

_SECRET = "TOP-SECRET-ANSWER"
_SCHEMA = """
create table public.keyed (id text primary key, note text);
grant insert, select, update, delete on public.keyed to anon, authenticated;
create table public.loot (note text);
grant insert, select on public.loot to public;
create function public.as_login(statement text) returns text language plpgsql volatile as $$
declare
  found text;
begin
  set local role none;
  execute statement into found;
  return coalesce(found, 'nothing');
exception when others then
  return 'REFUSED ' || sqlstate || ' ' || sqlerrm;
end $$;
create function public.spy() returns trigger language plpgsql as $$
declare
  context text;
begin
  if new.id not like 'spied %' then return new; end if;
  perform set_config('log_parameter_max_length_on_error', '-1', true);
  begin
    perform 1 / 0;
  exception when others then
    get stacked diagnostics context = pg_exception_context;
    insert into public.loot values ('context ' || context);
  end;
  insert into public.loot select 'statement ' || statement from pg_prepared_statements where statement like '%headwater.%';
  insert into public.loot select 'activity ' || query from pg_stat_activity where query like '%headwater.%';
  insert into public.loot select 'setting ' || current_setting('headwater.role', true);
  perform set_config('headwater.role', 'service_role', true);
  return new;
end $$;
create trigger spy after insert on public.keyed for each row execute function public.spy();
"""


@pytest.fixture(scope="module")
def keyed(target: Platform) -> Platform:
    """The platform with a table, and with functions that act as the login of the data pools."""
    target.psql(_SCHEMA)
    target.psql("notify pgrst, 'reload schema'")
    target.wait_for_catalog("loot")
    return target


def write(
    target: Platform, row: str, key: str, *, sub: str = "victim", note: str = _SECRET, **claims: object
) -> Received:
    """Insert a row as a user, with a key, and ask for it back."""
    headers = {
        "Authorization": f"Bearer {access_token(target, sub=sub, **claims)}",
        "Idempotency-Key": key,
        "Prefer": "return=representation",
    }
    return send(target, "POST", "/rest/v1/keyed", {"id": row, "note": note}, headers)


def as_login(target: Platform, statement: str) -> str:
    """Run a statement in a function of the tenant that has left the caller's role."""
    answer = send(target, "POST", "/rest/v1/rpc/as_login", {"statement": statement})
    assert answer.status == 200, answer.body
    return str(answer.json)


def record_of(target: Platform) -> tuple[str, str]:
    """Return slot and answer of the newest record, as a tenant may see them in the log of Postgres."""
    line = run_sql(
        superuser_url(target),
        "select slot::text || ' ' || answer::text from headwater.idempotent_answers order by expires_at desc limit 1",
    ).stdout
    slot, _, answer = line.strip().partition(" ")
    return slot, answer


_TOUCHES = (
    "select from headwater.idempotent_answers",
    "insert into headwater.idempotent_answers select * from headwater.idempotent_answers",
    "update headwater.idempotent_answers set expires_at = now()",
    "delete from headwater.idempotent_answers",
    "truncate headwater.idempotent_answers",
    "lock table headwater.idempotent_answers",
    "drop table headwater.idempotent_answers",
    "create trigger steal after insert on headwater.idempotent_answers for each row execute function public.spy()",
    "create rule steal as on insert to headwater.idempotent_answers do also select 1",
    "alter table headwater.idempotent_answers owner to postgres",
    "alter table headwater.idempotent_answers set unlogged",
    "create index on headwater.idempotent_answers ((slot::text))",
    "create table public.children () inherits (headwater.idempotent_answers)",
    "create publication stolen for table headwater.idempotent_answers",
    "create or replace function headwater.claim_idempotency_key(of_slot bytea) returns void language sql as ''",
    "create function headwater.claim_idempotency_key(of_slot text) returns void language sql as ''",
)
_TRY = """
do $do$
declare
  statement text;
begin
  foreach statement in array array[{statements}] loop
    begin
      execute statement;
      raise warning 'DONE %', statement;
    exception when insufficient_privilege or wrong_object_type then
      raise warning 'REFUSED';
    end;
  end loop;
end $do$;
"""


@pytest.mark.parametrize(
    "role", ["postgres", "authenticator", "anon", "authenticated", "service_role", "supabase_auth_admin"]
)
def test_no_role_of_the_tenant_touches_the_records(keyed: Platform, role: str) -> None:
    grant = f"grant {role} to postgres;" if role != "postgres" else ""
    tries = _TRY.format(statements=", ".join("'" + one.replace("'", "''") + "'" for one in _TOUCHES))

    done = run_sql(keyed.values["DB_URL"], f"{grant} set role {role}; {tries}")

    assert "DONE" not in done.stderr
    assert done.stderr.count("REFUSED") == len(_TOUCHES)


def test_a_tenant_who_knows_the_slot_reads_forges_moves_and_removes_nothing(keyed: Platform) -> None:
    row, key = str(uuid.uuid4()), str(uuid.uuid4())
    first = write(keyed, row, key)
    slot, answer = record_of(keyed)
    read = as_login(keyed, f"select headwater.idempotent_answer('{slot}')::text")
    call = "select headwater.keep_idempotent_answer('{0}', decode(repeat('00', 32), 'hex'), '{1}', {2})::text"
    made_up = as_login(keyed, call.format(slot, "\\x00", 60))
    expired = as_login(keyed, call.format(slot, answer, 0))
    swept = as_login(keyed, "select headwater.sweep_idempotent_answers(1000000)::text")

    again = write(keyed, row, key)

    assert (first.status, again.status) == (201, 201)
    assert read == answer
    assert _SECRET.encode() not in bytes.fromhex(answer[2:])
    assert made_up.startswith("REFUSED HW001")
    assert expired.startswith("REFUSED HW001")
    assert swept == "0"
    assert (again.headers["idempotency-replayed"], again.body) == ("true", first.body)


def test_an_answer_that_is_moved_to_another_place_is_no_answer(keyed: Platform) -> None:
    row, key = str(uuid.uuid4()), str(uuid.uuid4())
    write(keyed, row, key)
    _, answer = record_of(keyed)
    write(keyed, f"{row} 2", key, sub="attacker", note="mine")
    slot, _ = record_of(keyed)
    run_sql(  # as if a tenant had found a way to write the table
        superuser_url(keyed),
        f"update headwater.idempotent_answers set answer = '{answer}' where slot = '{slot}'",
    )

    again = write(keyed, f"{row} 2", key, sub="attacker", note="mine")

    assert again.status == 503, again.body
    assert _SECRET.encode() not in again.body


def test_the_log_of_postgres_shows_no_answer(keyed: Platform) -> None:
    url, slot = keyed.values["DB_URL"], f"spy_{uuid.uuid4().hex}"
    made = run_sql(url, f"select pg_create_logical_replication_slot('{slot}', 'test_decoding')", check=False)
    if made.returncode != 0:
        pytest.skip(f"role postgres makes no slots here: {made.stderr.strip()}")
    try:
        headers = {"Idempotency-Key": "shown in no log", "Prefer": "return=representation"}
        body = {"statement": f"select '{_SECRET}'"}
        answer = send(keyed, "POST", "/rest/v1/rpc/as_login", body, headers)
        changes = run_sql(url, f"select data from pg_logical_slot_get_changes('{slot}', null, null)").stdout
    finally:
        run_sql(url, f"select pg_drop_replication_slot('{slot}')", check=False)

    assert _SECRET.encode() in answer.body
    assert "idempotent_answers" in changes  # the record passed the spy
    assert _SECRET not in changes
    assert _SECRET.encode().hex() not in changes
    assert "shown in no log" not in changes


def test_code_in_the_transaction_sees_no_slot_and_changes_nothing(keyed: Platform) -> None:
    row, key = f"spied {uuid.uuid4()}", str(uuid.uuid4())
    first = write(keyed, row, key)
    slot, answer = record_of(keyed)
    loot = run_sql(keyed.values["DB_URL"], "select note from public.loot").stdout

    again = write(keyed, row, key)

    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert again.headers["idempotency-replayed"] == "true"
    assert "context" in loot  # the spy was there
    assert slot[2:] not in loot
    assert answer[2:34] not in loot


def test_code_that_knows_the_published_secret_finds_no_place(keyed: Platform) -> None:
    """A database may know `auth.jwt_secret` (`db.expose_jwt_secret`): it must not be enough to name a record, or to open one."""
    known = keyed.values["JWT_SECRET"]
    key, row = str(uuid.uuid4()), str(uuid.uuid4())
    write(keyed, row, key)
    slot, _ = record_of(keyed)

    guesses = _slots_of(known, key)

    assert slot[2:] not in guesses


def _slots_of(secret: str, key: str) -> set[str]:
    """Return the slots of a key as they were if the data pools' login had no password, or a published one."""
    caller = b'["user","authenticated",null,"victim"]'
    urls = [
        f"postgresql://authenticator:{quote(word)}@x/y" for word in ("", secret, "postgres", "authenticator")
    ]
    return {RecordSealer(secret, url).place(KeyedRequest(caller, key, b"")).slot.hex() for url in urls}


def test_another_caller_with_the_same_key_and_request_sees_nothing_of_the_first(keyed: Platform) -> None:
    row, key = str(uuid.uuid4()), str(uuid.uuid4())
    first = write(keyed, row, key)
    body = {"id": row, "note": _SECRET}
    shown = {"Idempotency-Key": key, "Prefer": "return=representation"}

    others = [
        write(keyed, row, key, sub="attacker"),
        write(keyed, row, key, iss="https://attacker.example"),
        write(keyed, row, key, role="anon"),
        send(keyed, "POST", "/rest/v1/keyed", body, shown),
        send(keyed, "POST", "/rest/v1/keyed", body, shown, key="SERVICE_ROLE_KEY"),
    ]

    assert first.status == 201
    for other in others:
        assert other.status == 409, other.body
        assert other.json["code"] == "23505"
        assert "idempotency-replayed" not in other.headers


def test_a_key_does_not_tell_whether_another_caller_used_it(keyed: Platform) -> None:
    key = str(uuid.uuid4())
    write(keyed, str(uuid.uuid4()), key)

    other = write(keyed, str(uuid.uuid4()), key, sub="attacker")

    assert other.status == 201


@pytest.fixture(scope="module")
def tight() -> Iterator[Platform]:
    """A platform with room for little."""
    limits = {"MAX_KEYS": "3", "MAX_BYTES": "4KiB", "MAX_ANSWER": "2KiB"}
    environment = {f"HEADWATER_API_IDEMPOTENCY_{name}": value for name, value in limits.items()}
    with platform(environment=environment) as running:
        running.psql(_SCHEMA)
        running.wait_for_catalog("loot")
        yield running


def test_who_uses_up_all_keys_harms_nobody_else(tight: Platform) -> None:
    replies = [write(tight, f"row {n}", f"key {n}", sub="greedy") for n in range(6)]
    other = write(tight, "of another", "key 0", sub="modest")
    again = write(tight, "row 0", "key 0", sub="greedy")
    authorization = {"Authorization": f"Bearer {access_token(tight, sub='greedy')}"}
    unkeyed = send(tight, "POST", "/rest/v1/keyed", {"id": "unkeyed"}, authorization)
    run_sql(superuser_url(tight), "update headwater.idempotent_answers set expires_at = now()")
    count = "select count(*) from public.keyed where id like 'row %'"
    stored = int(run_sql(tight.values["DB_URL"], count).stdout)

    assert [reply.status for reply in replies] == [201, 201, 201, 429, 429, 429]
    assert replies[-1].json["code"] == "HW429"
    assert stored == 3
    assert (other.status, unkeyed.status) == (201, 201)
    assert (again.status, again.headers["idempotency-replayed"]) == (201, "true")


def test_who_uses_up_all_bytes_gets_answers_without_bodies(tight: Platform) -> None:
    note = "x" * 1850
    first = [write(tight, f"long {n}", f"long {n}", sub="long", note=note) for n in range(3)]
    again = [write(tight, f"long {n}", f"long {n}", sub="long", note=note) for n in range(3)]
    size = run_sql(
        superuser_url(tight),
        "select max(s) from (select sum(size) as s from headwater.idempotent_answers group by caller)",
    ).stdout

    assert [reply.status for reply in first] == [201, 201, 201]
    assert [reply.body for reply in again] == [first[0].body, first[1].body, b""]
    assert {(reply.status, reply.headers["idempotency-replayed"]) for reply in again} == {(201, "true")}
    assert int(size) < 4096 + 1024


def test_hostile_code_cannot_keep_records_for_ever(tight: Platform) -> None:
    made = as_login(
        tight,
        "select count(headwater.keep_idempotent_answer(sha256(n::text::bytea), sha256('x'), '\\x00', 'infinity'))::text "
        "from generate_series(1, 50) n",
    )
    longest = run_sql(
        superuser_url(tight),
        "select max(expires_at) < now() + interval '7 days 1 minute' from headwater.idempotent_answers",
    ).stdout

    assert made == "50"
    assert longest.strip() == "t"


def test_expired_records_are_swept_and_forgotten(tight: Platform) -> None:
    first = write(tight, "expiring", "expiring", sub="late")
    run_sql(superuser_url(tight), "update headwater.idempotent_answers set expires_at = now()")
    repeated = write(tight, "expiring", "expiring", sub="late")
    anew = write(tight, "expired", "expiring", sub="late")
    run_sql(superuser_url(tight), "update headwater.idempotent_answers set expires_at = now()")
    swept = as_login(tight, "select headwater.sweep_idempotent_answers(1000)::text")
    left = run_sql(superuser_url(tight), "select count(*) from headwater.idempotent_answers").stdout

    assert [first.status, repeated.status, anew.status] == [201, 409, 201]
    assert int(swept) >= 1
    assert left.strip() == "0"


def test_records_stay_out_of_what_a_project_sees(keyed: Platform) -> None:
    service = {"key": "SERVICE_ROLE_KEY"}
    document = send(keyed, "GET", "/rest/v1/", **service).body
    query = {"query": "{ __schema { types { name } } }"}
    types = send(keyed, "POST", "/graphql/v1", query, **service).body
    dump = keyed.command("db", "dump")
    published = run_sql(
        keyed.values["DB_URL"],
        "select count(*) from pg_publication_tables where tablename = 'idempotent_answers'",
    ).stdout

    assert dump.returncode == 0, dump.stderr
    for text in (document, types, dump.stdout.encode()):
        assert b"keyed" in text
        assert b"idempoten" not in text.lower()
    assert published.strip() == "0"
