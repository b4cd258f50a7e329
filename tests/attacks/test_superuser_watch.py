"""Role postgres cannot switch off, skip or drop what tells the platform of changes to the schema."""

from collections.abc import Iterator

import pytest

from tests.attacks.probe import as_login, probe, run_sql, superuser_url
from tests.platform import Platform, platform
from workers.sql.files import read_statements

_TRIGGERS = "select evtname from pg_catalog.pg_event_trigger where evtowner <> 'postgres'::regrole order by 1"


@pytest.fixture(scope="module")
def tenant() -> Iterator[Platform]:
    """A platform of this module's own: its event triggers are attacked."""
    with platform() as one:
        yield one


def _marks(tenant: Platform, sql: str) -> int:
    """Return how many marks of the schema the log has of statements that role postgres runs."""
    url, owner = tenant.values["DB_URL"], superuser_url(tenant)
    run_sql(owner, "select pg_catalog.pg_create_logical_replication_slot('hostile_marks', 'pgoutput')")
    try:
        run_sql(url, sql)
        counted = run_sql(
            owner,
            "select count(*) from pg_catalog.pg_logical_slot_peek_binary_changes('hostile_marks', null, null, 'proto_version', '1',"
            " 'publication_names', 'supabase_realtime', 'messages', 'true') where pg_catalog.get_byte(data, 0) = 77",
        )
        return int(counted.stdout)
    finally:
        run_sql(owner, "select pg_catalog.pg_drop_replication_slot('hostile_marks')")


_CHANGES = (
    "create table public.hostile_marked (id int); alter table public.hostile_marked enable row level security;"
    "create policy none on public.hostile_marked using (false); drop table public.hostile_marked;"
)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "set session_replication_role = replica;",
        "set session_replication_role = local;",
        "begin; set local session_replication_role = replica;",
    ],
    ids=["origin", "replica", "local", "replica in a transaction"],
)
def test_changes_of_the_schema_are_marked_in_every_replication_role(tenant: Platform, before: str) -> None:
    assert _marks(tenant, before + _CHANGES + ("commit;" if "begin" in before else "")) >= 4


def test_changes_are_marked_when_the_database_has_a_replication_role(tenant: Platform) -> None:
    try:
        run_sql(tenant.values["DB_URL"], "alter database postgres set session_replication_role = replica")
        assert _marks(tenant, _CHANGES) >= 4
    finally:
        run_sql(superuser_url(tenant), "alter database postgres reset session_replication_role")


def test_no_drop_of_a_function_takes_event_triggers_of_the_platform_along(tenant: Platform) -> None:
    before = run_sql(superuser_url(tenant), _TRIGGERS).stdout.split()
    assert "headwater_mark_changes" in before
    functions = run_sql(
        superuser_url(tenant),
        "set search_path = ''; select distinct evtfoid::pg_catalog.regprocedure from pg_catalog.pg_event_trigger where evtowner <> 'postgres'::pg_catalog.regrole",
    ).stdout.splitlines()
    attacks = [f"drop function {name} cascade" for name in functions]
    attacks += [f"alter function {name} owner to postgres" for name in functions]
    attacks += [
        f"create or replace function {name} returns event_trigger language plpgsql as 'begin end'"
        for name in functions
    ]
    attacks += [f"drop event trigger {name}" for name in before]
    attacks += [f"alter event trigger {name} disable" for name in before]
    attacks += ["set event_triggers = off; create table public.hostile_unmarked ()"]
    attacks += ["drop schema extensions cascade"]
    taken = []
    for attack in attacks:
        # Rolled back: the next attack meets the same platform.
        sql = f"begin; {attack}; select count(*) from pg_catalog.pg_event_trigger where evtowner <> 'postgres'::regrole; rollback;"
        done = run_sql(tenant.values["DB_URL"], sql, check=False)
        if done.returncode == 0 and done.stdout.strip() != str(len(before)):
            taken.append(attack)
        if done.returncode == 0 and ("alter" in attack or "replace" in attack or "event_triggers" in attack):
            taken.append(attack)
    assert taken == []
    assert run_sql(superuser_url(tenant), _TRIGGERS).stdout.split() == before


def test_a_trigger_on_what_the_scheduler_sweeps_runs_with_no_rights(tenant: Platform) -> None:
    with probe(tenant) as one:
        one.plant(
            f"create trigger {one.schema} before delete on supabase_functions.hooks for each statement"
            f" execute function {one.schema}.probe_trigger()"
        )
        secret = "s" * 40
        _set_password(tenant, "headwater_scheduler", secret)
        url = as_login(tenant.values["DB_URL"], "headwater_scheduler", secret)
        sweeping = read_statements("workers.scheduler", "jobs.sql")["sweep_hooks"].replace("$1", "1")
        run_sql(url, sweeping)
        run_sql(url, sweeping)
        assert [
            line for line in one.reports() if "current=headwater_scheduler" in line or "reset=done" in line
        ] == []


def _set_password(tenant: Platform, role: str, password: str) -> None:
    run_sql(superuser_url(tenant), f"alter role {role} password '{password}'")
