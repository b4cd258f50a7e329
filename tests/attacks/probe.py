"""Detect that code of a tenant ran with the rights of another role, however it came to run.

A probe is a function `<schema>.probe(via)` that a tenant (role postgres) plants wherever the platform might call it. It does
nothing in a session of the tenant's own roles. In one of a superuser, or of a login that has rights which the tenant has not, it reports in ways that a rollback does not undo:

- `raise log`: a line in the server's log, with the current and the session user;
- `copy ... to program`: a file beside it, if the rights of the superuser could be used (also after `reset role`). Only
  this one reaches us from a server of its own, such as the shadow server of `db diff`.

Names and operators in the probe are qualified, for it also runs among overloads of everything.
"""

import json
import os
import re
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from services.supervisor.binaries import find_postgres
from services.supervisor.postgres.cluster import SUPERUSER
from tests.platform import Platform

PROTECTED = (
    "supabase_admin",
    "supabase_replication_admin",
    "headwater_scheduler",
    "supabase_etl_admin",
    "pgbouncer",
    "headwater_management",
)
"""The superuser, and logins whose rights role postgres has not."""
_GUARDED = re.compile(rf"current=(?!(?:{'|'.join(PROTECTED)}) ).* reset=cannot set parameter")
"""Postgres keeps the role of the session out of reach: in a function of its owner's rights, in an analysis, in an index."""
_TIMEOUT_S = 120

_PROBE = """
create schema if not exists {schema};
grant usage on schema {schema} to public;
create or replace function {schema}.probe(via pg_catalog.text) returns pg_catalog.bool
language plpgsql set search_path = pg_catalog, pg_temp set check_function_bodies = off as $probe$
declare
  seen constant pg_catalog.int4 := coalesce(nullif(pg_catalog.current_setting('hostile.seen', true), ''), '0')::pg_catalog.int4;
  report pg_catalog.text := pg_catalog.concat('via=', via, ' current=', current_user, ' session=', session_user);
begin
  if not exists (
    select from pg_catalog.pg_roles as r
    where (r.rolsuper or r.rolname operator(pg_catalog.=) any ('{{{protected}}}'))
      and (r.rolname operator(pg_catalog.=) current_user or r.rolname operator(pg_catalog.=) session_user)
  ) then
    return true;
  end if;
  perform pg_catalog.set_config('hostile.seen', (seen operator(pg_catalog.+) 1)::pg_catalog.text, false);
  if seen operator(pg_catalog.>) 50 then
    return true;
  end if;
  begin  -- what the session may, whatever role it has now; the exception at the end takes the role back
    begin
      execute 'reset role';
      report := pg_catalog.concat(report, ' reset=done');
    exception when others then
      report := pg_catalog.concat(report, ' reset=', sqlerrm);
    end;
    raise log '{token} %', report;
    execute pg_catalog.format('copy (select %L) to program %L', report, 'cat >> {evidence}');
    raise exception 'undone';
  exception when others then
    null;
  end;
  return true;
end
$probe$;
grant execute on function {schema}.probe(pg_catalog.text) to public;
create or replace function {schema}.probe_trigger() returns trigger language plpgsql as $probe$
begin
  perform {schema}.probe(pg_catalog.concat('trigger ', tg_table_schema, '.', tg_table_name, ' ', tg_name));
  return coalesce(new, old);
end
$probe$;
create or replace function {schema}.probe_event() returns event_trigger language plpgsql as $probe$
begin
  perform {schema}.probe(pg_catalog.concat('event trigger ', tg_event, ' ', tg_tag));
end
$probe$;
grant execute on function {schema}.probe_trigger() to public;
"""


@dataclass(slots=True)
class Probe:
    """A planted probe and what it reported."""

    target: Platform
    schema: str
    token: str
    evidence: Path
    read: int = 0
    restricted: list[str] = field(default_factory=list)
    """Executions as a role of the tenant's, from which the role of the session is out of reach."""

    @property
    def ddl(self) -> str:
        """The SQL that makes the probe; role postgres runs it, or a migration file."""
        return _PROBE.format(
            schema=self.schema, token=self.token, evidence=self.evidence, protected=",".join(PROTECTED)
        )

    @property
    def call(self) -> str:
        """How the probe is called, with the text of the place in `%s`."""
        return f"{self.schema}.probe('%s')"

    def plant(self, sql: str = "") -> None:
        """Make the probe, and run SQL that spreads it, as role postgres."""
        run_sql(self.target.values["DB_URL"], self.ddl + sql)

    def reports(self) -> list[str]:
        """Return what was reported since the last call: executions with rights that are not the tenant's."""
        found: list[str] = []
        log = self.target.data / "logs" / "postgres.log"
        with log.open("rb") as file:
            file.seek(self.read)
            text = file.read().decode(errors="replace")
            self.read = file.tell()
        for line in re.findall(rf"LOG:\s+{self.token} (.*)", text):
            (self.restricted if _GUARDED.search(line) else found).append(line)
        if self.evidence.exists():
            found += [f"ran a program: {line}" for line in self.evidence.read_text().splitlines()]
            self.evidence.unlink()
        return found


@contextmanager
def probe(target: Platform) -> Iterator[Probe]:
    """Give a probe with names of its own; its schema and what depends on it go at the end."""
    name = f"hostile_{uuid.uuid4().hex[:8]}"
    # Not below $TMPDIR: the path is part of a label of an enum (hostile_schema.sql), which has at most 63 bytes.
    with tempfile.TemporaryDirectory(prefix="hw-evidence-", dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        one = Probe(target, name, name.upper(), Path(folder) / "evidence")
        one.reports()  # what is in the log already is not ours
        try:
            yield one
        finally:
            run_sql(superuser_url(target), _CLEAN.format(name=name), check=False)


def superuser_url(target: Platform) -> str:
    """Return the URL of the embedded server's superuser: for checks and for cleaning up, never for an attack."""
    password = json.loads((target.data / "passwords.json").read_text())["database"]
    parts = urlsplit(target.values["DB_URL"])
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{SUPERUSER}:{quote(password, safe='')}@{place}"))


def as_login(url: str, role: str, password: str) -> str:
    """Return a URL for another login of the same database."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{role}:{quote(password, safe='')}@{place}"))


def run_sql(
    url: str, sql: str, *, check: bool = True, stops: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a script over a URL, each statement by itself, up to the first that fails, or all of them; rows are printed bare."""
    done = subprocess.run(
        [
            str(find_postgres() / "psql"),
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            f"ON_ERROR_STOP={int(stops)}",
            "-d",
            url,
            "-f",
            "-",
        ],
        input=sql,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
        env={"PATH": os.environ["PATH"], "PGCONNECT_TIMEOUT": "10"},
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{done.stderr.strip()[:2000]}")
    return done


_CLEAN = """
set event_triggers = off;
select pg_catalog.format('drop event trigger %I', evtname) from pg_catalog.pg_event_trigger where evtname ~ '^{name}' \\gexec
drop schema if exists {name} cascade;
"""
_POWERS = """
select pg_catalog.json_build_object(
  'superusers', (select pg_catalog.array_agg(rolname order by rolname) from pg_catalog.pg_roles where rolsuper),
  'members', (
    select pg_catalog.array_agg(pg_catalog.format('%s in %s', m.rolname, r.rolname) order by m.rolname, r.rolname)
    from pg_catalog.pg_auth_members a
    join pg_catalog.pg_roles r on r.oid operator(pg_catalog.=) a.roleid
    join pg_catalog.pg_roles m on m.oid operator(pg_catalog.=) a.member
    where r.rolsuper or r.rolname in (
      'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_write_all_data')),
  'creators', (select pg_catalog.array_agg(rolname order by rolname) from pg_catalog.pg_roles where rolcreaterole and rolname operator(pg_catalog.!~) '^hostile_')
);
"""


def powers(target: Platform) -> str:
    """Return, as one comparable text, who is or may act as a superuser."""
    return run_sql(superuser_url(target), "set search_path = pg_catalog;" + _POWERS).stdout.strip()
