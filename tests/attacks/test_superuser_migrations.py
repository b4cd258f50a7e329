"""Tenant code in the session of a superuser who brings the platform's own schemas up to date.

All system migrations are made pending again by forgetting that they ran: each is safe to run twice, so this is what an
update does, and every statement that there is meets the tenant's triggers.
"""

from collections.abc import Iterator

import pytest

from tests.attacks.probe import Probe, as_login, powers, probe, run_sql, superuser_url
from tests.platform import Platform, platform

_EVENT_TRIGGER = """
create function {schema}.event() returns event_trigger language plpgsql as
  $$ begin perform {schema}.probe(pg_catalog.concat('event trigger ', tg_event, ' ', tg_tag)); end $$;
select {place}.create_event_trigger('{schema}_end', 'ddl_command_end', null, '{schema}.event'::regproc);
select {place}.create_event_trigger('{schema}_start', 'ddl_command_start', null, '{schema}.event'::regproc);
select {place}.create_event_trigger('{schema}_drop', 'sql_drop', null, '{schema}.event'::regproc);
"""
_WHERE = """
select n.nspname from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where p.proname = 'create_event_trigger'
"""
_TABLES = """
select pg_catalog.format('%I.%I', n.nspname, c.relname) from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname <> all ('{{pg_catalog,information_schema,{schema}}}')
"""


@pytest.fixture(scope="module")
def tenant() -> Iterator[Platform]:
    """A platform of this module's own: what is planted stays."""
    with platform() as one:
        yield one


@pytest.fixture(params=["event trigger", "table trigger"])
def planted(request: pytest.FixtureRequest, tenant: Platform) -> Iterator[Probe]:
    """A probe in event triggers, or in triggers of every table that role postgres may put them on."""
    with probe(tenant) as one:
        one.plant()
        if request.param == "event trigger":
            place = run_sql(superuser_url(tenant), _WHERE).stdout.strip()
            one.plant(_EVENT_TRIGGER.format(schema=one.schema, place=place))
        else:
            _put_triggers(one)
        yield one


def _put_triggers(one: Probe) -> None:
    """Put triggers of all kinds on all tables that take one."""
    statements = [
        f"create trigger {one.schema}_{name} {when.format(table)} execute function {one.schema}.probe_trigger();\n"
        f"alter table {table} enable always trigger {one.schema}_{name};\n"
        for table in run_sql(superuser_url(one.target), _TABLES.format(schema=one.schema)).stdout.splitlines()
        for name, when in (
            ("a_row", "before insert or update or delete on {} for each row"),
            ("b_statement", "before insert or update or delete on {} for each statement"),
            ("c_truncate", "before truncate on {} for each statement"),
        )
    ]
    # Not every table takes every kind.
    run_sql(one.target.values["DB_URL"], "".join(statements), check=False, stops=False)


@pytest.mark.parametrize("words", [("upgrade", "--dry-run"), ("upgrade",)], ids=" ".join)
def test_no_tenant_code_runs_while_pending_system_migrations_are_applied(
    tenant: Platform, planted: Probe, words: tuple[str, ...]
) -> None:
    before = powers(tenant)
    run_sql(tenant.values["DB_URL"], "insert into auth.refresh_tokens (token) values ('x')", check=False)
    planted.reports()
    run_sql(superuser_url(tenant), "set event_triggers = off; delete from headwater.migrations")
    done = tenant.command(*words)
    reports = planted.reports()
    if words == ("upgrade", "--dry-run"):
        assert "to apply" in done.stdout, done.stderr  # else nothing was tried
    assert reports == []
    assert powers(tenant) == before


_NEW_ROLES = """
select rolname from pg_catalog.pg_roles where rolname ~ '^(headwater_|supabase_)' and not rolsuper and not pg_catalog.pg_has_role('postgres', oid, 'member')
  and rolname !~ '^headwater_(job|http|login)_'
"""


def test_a_role_of_the_platform_whose_name_a_tenant_has_taken_is_not_the_tenants(tenant: Platform) -> None:
    """An update brings roles; whoever made a role of that name before has all rights on it."""
    url, owner = tenant.values["DB_URL"], superuser_url(tenant)
    roles = run_sql(owner, _NEW_ROLES).stdout.split()
    assert "headwater_scheduler" in roles
    taken = [
        role
        for role in roles
        if role
        not in (
            "headwater_scheduler",
            "supabase_replication_admin",
            "supabase_read_only_user",
            "supabase_etl_admin",
        )
    ]
    for role in taken:
        # As it was before the version that brought it; what it owned is made again by the migrations.
        run_sql(
            owner,
            f"set event_triggers = off; reassign owned by {role} to supabase_admin; drop owned by {role} cascade; drop role {role}",
        )
        run_sql(url, f"create role {role} login password 'x'")
    run_sql(owner, "set event_triggers = off; delete from headwater.migrations")
    tenant.command("upgrade")
    members = run_sql(
        owner,
        f"select rolname from pg_catalog.pg_roles where rolname = any ('{{{','.join(taken)}}}') and pg_catalog.pg_has_role('postgres', oid, 'member')",
    ).stdout.split()
    opened = [
        role for role in taken if run_sql(as_login(url, role, "x"), "select 1", check=False).returncode == 0
    ]
    assert (members, opened) == ([], [])
