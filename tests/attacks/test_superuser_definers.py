"""Functions that run with their owner's rights: no name in them may resolve to what the caller made."""

from tests.attacks.probe import run_sql, superuser_url
from tests.platform import Platform

_LOOSE = """
select pg_catalog.format('%s owned by %s: %s', p.oid::pg_catalog.regprocedure, r.rolname, coalesce(path.setting, 'no search_path'))
from pg_catalog.pg_proc p
join pg_catalog.pg_roles r on r.oid = p.proowner
join pg_catalog.pg_language l on l.oid = p.prolang and l.lanname in ('sql', 'plpgsql')
left join lateral (
  select pg_catalog.substr(entry, 13) as setting from pg_catalog.unnest(p.proconfig) as entry where entry like 'search_path=%'
) as path on true
where p.prosecdef and p.prosqlbody is null and r.rolname <> 'postgres'
  and (
    path.setting is null
    or path.setting !~ '(^|, *)pg_temp$'
    or exists (
      select from pg_catalog.unnest(pg_catalog.string_to_array(path.setting, ',')) as place
      join pg_catalog.pg_namespace n on n.nspname = pg_catalog.btrim(place, ' "')
      where n.nspname <> 'pg_catalog' and n.nspname !~ '^pg_temp'
        and (
          pg_catalog.has_schema_privilege('postgres', n.oid, 'create')
          or pg_catalog.has_schema_privilege('authenticated', n.oid, 'create'))
    )
  )
order by 1
"""


def test_every_definer_has_a_path_of_the_catalog_with_temporary_names_last(target: Platform) -> None:
    extensions = "create extension if not exists pg_cron; create extension if not exists pg_net; create extension if not exists pgmq; create extension if not exists http with schema extensions;"
    run_sql(target.values["DB_URL"], extensions)
    assert run_sql(superuser_url(target), _LOOSE).stdout.splitlines() == []


_DOMAINS = """
create function pg_temp.seen(via text) returns boolean language plpgsql as $$
begin
  if current_user <> 'postgres' then
    raise warning 'ESCALATED via % as %', via, current_user;
  end if;
  return true;
end $$;
set check_function_bodies = off;
create domain pg_temp.text as pg_catalog.text check (pg_temp.seen('text'));
create domain pg_temp.jsonb as pg_catalog.jsonb check (pg_temp.seen('jsonb'));
create domain pg_temp.date as pg_catalog.date check (pg_temp.seen('date'));
create domain pg_temp.uuid as pg_catalog.uuid check (pg_temp.seen('uuid'));
create domain pg_temp.name as pg_catalog.name check (pg_temp.seen('name'));
create domain pg_temp.oid as pg_catalog.oid check (pg_temp.seen('oid'));
create domain pg_temp.regclass as pg_catalog.regclass check (pg_temp.seen('regclass'));
create domain pg_temp.timestamptz as pg_catalog.timestamptz check (pg_temp.seen('timestamptz'));
create domain pg_temp.int8 as pg_catalog.int8 check (pg_temp.seen('int8'));
"""
_CALLS = """
insert into storage.buckets (id, name) values ('{name}', '{name}');
insert into storage.objects (bucket_id, name, version, metadata)
  values ('{name}', 'a', 'v1', '{{"size": 3}}'), ('{name}', 'b', 'v2', '{{"size": "4"}}');
update storage.objects set version = 'v3', metadata = '{{"size": 5}}' where bucket_id = '{name}' and name = 'a';
set storage.allow_delete_query = 'true';
delete from storage.objects where bucket_id = '{name}';
delete from storage.buckets where id = '{name}';
create table pg_temp.hooked (id pg_catalog.int4);
create trigger hook after insert on pg_temp.hooked for each row
  execute function supabase_functions.http_request('http://127.0.0.1:1/', 'POST', '{{}}', '{{}}', '1000');
insert into pg_temp.hooked values (1);
select realtime.send('{{}}'::pg_catalog.jsonb, 'e', 't', false);
"""


def test_temporary_domains_do_not_run_as_the_owner_of_a_definer(target: Platform) -> None:
    run_sql(target.values["DB_URL"], "create extension if not exists pg_net")
    calls = _CALLS.format(name="temp-names")
    # All in a row, and each in a session of its own: one that fails must not keep the next from being tried.
    scripts = [calls, *(f"{call};" for call in calls.split(";\n") if call)]
    output = "".join(
        run_sql(target.values["DB_URL"], f"{_DOMAINS} \\set ON_ERROR_STOP 0\n{script}", check=False).stderr
        for script in scripts
    )
    assert [line for line in output.splitlines() if "ESCALATED" in line] == []


def test_webhook_and_partition_definers_take_no_temporary_names(target: Platform) -> None:
    calls = "grant supabase_realtime_admin to postgres; select realtime.keep_partitions(); set role supabase_realtime_admin; select realtime.keep_partitions();"
    done = run_sql(target.values["DB_URL"], f"{_DOMAINS} \\set ON_ERROR_STOP 0\n{calls}", check=False)
    assert "ESCALATED" not in done.stderr
