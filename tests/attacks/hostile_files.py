"""Project files of a hostile author: each tries to leave the role that it runs as, and plants what later commands meet."""

from pathlib import Path

from tests.attacks.hostile_schema import script
from tests.attacks.probe import Probe

_ESCAPES = """
reset role;
select {schema}.probe('{place}, after reset role');
set role none;
select {schema}.probe('{place}, after set role none');
reset session authorization;
select {schema}.probe('{place}, after reset session authorization');
set session authorization default;
select {schema}.probe('{place}, after set session authorization');
discard temp;
reset all;
select {schema}.probe('{place}, after reset all');
"""
_TRIES = """
do $try$
declare
  attack text;
begin
  foreach attack in array array[
    'set role supabase_admin', 'set session authorization supabase_admin', 'alter role postgres superuser',
    'grant pg_execute_server_program to postgres', 'grant supabase_admin to postgres', 'set local role none',
    $a$copy (select 1) to program 'echo {place} >> {evidence}'$a$, $a$create role {schema}_super superuser$a$,
    $a$alter system set log_min_messages = 'panic'$a$, $a$load '/tmp/x'$a$, $a$select pg_read_file('postgresql.conf')$a$,
    'alter database postgres set session_preload_libraries = x', 'create language untrusted handler plpgsql_call_handler'
  ] loop
    begin
      execute attack;
      perform {schema}.probe('{place}, after ' || attack);
    exception when others then
      null;
    end;
  end loop;
end
$try$;
"""
_OVERLOADS = """
create function {schema}.two(text, oid) returns text language plpgsql as
  $$ begin perform {schema}.probe('{place}: ||'); return pg_catalog.textcat($1, $2::text); end $$;
create operator public.|| (leftarg = text, rightarg = oid, function = {schema}.two);
create function public.unnest(text[]) returns setof text language plpgsql as
  $$ begin perform {schema}.probe('{place}: unnest'); return query select pg_catalog.unnest($1); end $$;
create event trigger "{schema} files" on ddl_command_end execute function {schema}.probe_event();
create event trigger "{schema} starts" on ddl_command_start execute function {schema}.probe_event();
create event trigger "{schema} drops" on sql_drop execute function {schema}.probe_event();
create publication "{schema} all" for all tables;
create extension http with schema {schema};
"""


def write_files(probe: Probe, folder: Path) -> None:
    """Write migrations, seeds, roles and a function of a project. They have a schema of their own, beside what is planted."""
    files = Probe(probe.target, f"{probe.schema}_files", probe.token, probe.evidence)

    def text(form: str, place: str) -> str:
        return form.format(schema=files.schema, place=place, evidence=probe.evidence)

    root = folder / "supabase"
    migrations = root / "migrations"
    migrations.mkdir(parents=True, exist_ok=True)
    (migrations / "20260101000001_probe.sql").write_text(files.ddl)
    (migrations / "20260101000002_schema.sql").write_text(script(files, "hostile_schema.sql"))
    (migrations / "20260101000003_escape.sql").write_text(text(_ESCAPES + _TRIES, "migration"))
    (migrations / "20260101000004_overloads.sql").write_text(
        f"drop extension if exists http cascade; drop function if exists public.unnest(text[]); drop operator if exists public.|| (text, oid);\n{text(_OVERLOADS, 'migration')}"
    )
    (migrations / "20260101000005_commit.sql").write_text(
        "commit;\n" + text(_ESCAPES + _TRIES, "after commit")
    )
    (root / "seed.sql").write_text(text(_ESCAPES + _TRIES, "seed"))
    (root / "roles.sql").write_text("reset role;\ncreate role hostile_of_file;\n")
    function = root / "functions" / "hello"
    function.mkdir(parents=True, exist_ok=True)
    (function / "index.ts").write_text('Deno.serve(() => new Response("hello"));\n')
