"""A database of the release before, planted by its tenant, is brought up to date: by a start, an upgrade and its rehearsal.

The release before made the functions in schema extensions and the guard that asked for the current user alone, so its tenant
could plant what this one refuses. It is made as it was from that release's own files, in a database of the same server.
"""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit, urlunsplit

import pytest

from schemas.database_logins import password_variables
from schemas.settings.tree import Settings
from tests.attacks.probe import Probe, powers, probe, run_sql, superuser_url
from tests.platform import Platform, platform
from tests.workers.database.released import apply_released

_NAME = "hostile_before"
_PLANTED = """
create function {schema}.event() returns event_trigger language plpgsql as
  $$ begin perform {schema}.probe(pg_catalog.concat('event trigger ', tg_event, ' ', tg_tag)); end $$;
select extensions.headwater_create_event_trigger('{schema}_end', 'ddl_command_end', null, '{schema}.event'::regproc);
select extensions.headwater_create_event_trigger('{schema}_start', 'ddl_command_start', null, '{schema}.event'::regproc);
select extensions.headwater_create_event_trigger('{schema}_drop', 'sql_drop', null, '{schema}.event'::regproc);
create function {schema}.raising() returns event_trigger language plpgsql as $$ begin raise 'no'; end $$;
select extensions.headwater_create_event_trigger('{schema}_raises', 'ddl_command_start', '{{ALTER FUNCTION}}', '{schema}.raising'::regproc);
drop function {schema}.raising();
create trigger a_row before insert or update or delete on auth.refresh_tokens for each row
  execute function {schema}.probe_trigger();
create trigger b_statement before update on auth.refresh_tokens for each statement
  execute function {schema}.probe_trigger();
alter table auth.refresh_tokens enable always trigger a_row;
alter table auth.refresh_tokens enable always trigger b_statement;
create trigger a_row before insert or update or delete on storage.objects for each row
  execute function {schema}.probe_trigger();
create function {schema}.text_eq(text, text) returns boolean language plpgsql as
  $$ begin return {schema}.probe('operator ='); end $$;
create operator {schema}.= (leftarg = text, rightarg = text, function = {schema}.text_eq);
create function {schema}.format(text, text) returns text language plpgsql as
  $$ begin perform {schema}.probe('format'); return ''; end $$;
create domain {schema}.oid as pg_catalog.oid check ({schema}.probe('domain oid'));
create domain {schema}.text as pg_catalog.text check ({schema}.probe('domain text'));
alter database {name} set search_path = {schema}, pg_catalog;
alter database {name} set role = 'postgres';
alter database {name} set session_replication_role = 'replica';
"""


@pytest.fixture(scope="module")
def tenant() -> Iterator[Platform]:
    """A platform of this module's own."""
    with platform() as one:
        yield one


@pytest.fixture
async def before(tenant: Platform) -> AsyncIterator[Probe]:
    """A probe in a database of the release before; `tenant.values["DB_URL"]` of its copy names that database."""
    owner = superuser_url(tenant)
    run_sql(owner, f"create database {_NAME} template template0")
    try:
        copy = Platform(tenant.data, tenant.port, tenant.pid, {**tenant.values})
        copy.values["DB_URL"] = _in(tenant.values["DB_URL"])
        await apply_released(_in(owner))
        with probe(copy) as one:
            one.plant(_PLANTED.format(schema=one.schema, name=_NAME))
            yield one
    finally:
        run_sql(owner, f"drop database {_NAME} with (force)")


def _passwords(tenant: Platform) -> dict[str, str]:
    """Return the passwords of the platform's logins, which all databases of its server share: with others it would be cut off."""
    passwords = json.loads((tenant.data / "passwords.json").read_text())
    return {variable: passwords[role] for role, variable in password_variables(Settings()).items()}


def _in(url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{_NAME}"))


@pytest.mark.parametrize("words", [("upgrade", "--dry-run"), ("upgrade",), ("migrate",)], ids=" ".join)
async def test_nothing_of_the_tenant_runs_while_its_database_is_brought_up_to_date(
    before: Probe, tenant: Platform, words: tuple[str, ...]
) -> None:
    owner = _in(superuser_url(tenant))
    powerful = powers(tenant)
    before.reports()

    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers", *words],
        env={"PATH": os.environ["PATH"], "HEADWATER_MIGRATE_URL": owner, **_passwords(tenant)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert before.reports() == []
    assert powers(tenant) == powerful
    assert (
        run_sql(
            owner,
            "reset role; select rolname from pg_catalog.pg_roles where pg_catalog.starts_with(rolname, 'headwater_login')",
        ).stdout
        == ""
    )
    if words != ("upgrade", "--dry-run"):
        # What the tenant made still works for it, with its own rights.
        guards = (
            "select pg_catalog.count(*), pg_catalog.count(*) filter (where pg_catalog.strpos(prosrc, 'session_user') > 0)"
            " from pg_catalog.pg_proc where pronamespace = 'headwater'::pg_catalog.regnamespace and pg_catalog.starts_with(proname, 'event_')"
            " and prorettype = 'pg_catalog.event_trigger'::pg_catalog.regtype"
        )
        assert run_sql(owner, f"set search_path = pg_catalog; {guards}").stdout.strip() == "2|2"
