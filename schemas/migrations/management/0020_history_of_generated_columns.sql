-- Tables with stored generated columns have a history, where every publication publishes these columns.
-- as: superuser

-- Why generated columns of a table keep it from a full replica identity: '' if nothing does. Since Postgres 18 updates of such a table fail
-- under one, unless every publication of the table has the columns; virtual ones are in none. Before, publications cannot have them.
create or replace function headwater.unpublished_columns(given oid) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when not exists (select from pg_attribute as a where a.attrelid = given and a.attgenerated <> '' and not a.attisdropped) then ''
    when current_setting('server_version_num')::int < 180000 then 'generated'
    when exists (select from pg_attribute as a where a.attrelid = given and a.attgenerated = 'v' and not a.attisdropped) then 'virtual'
    when exists (
      select from pg_publication as p
      where (p.pubupdate or p.pubdelete) and to_jsonb(p) ->> 'pubgencols' is distinct from 's'
        and exists (select from pg_get_publication_tables(p.pubname::text) as t where t.relid = given)
    ) then 'unpublished'
    else ''
  end
$$;

-- Switch the history of a table on, or change its days, and return why that cannot be: '' if it is on (0014_history.sql, with the rule for
-- generated columns of above).
--
-- The changes of the table run as the superuser: event triggers of a project do nothing for one (headwater.copy_event_function), and
-- neither statement runs other code of the project.
create or replace function headwater.history_on(given oid, wanted int) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  found record;
  held headwater_history.tables;
  columns text[];
  name text;
  fresh int;
  problem text;
begin
  if wanted is null or wanted not between 1 and 3650 then
    return 'days';
  end if;
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 4);
  select c.relkind, c.relreplident, c.relpersistence, c.relispartition, n.nspname, c.relname, (
    select i.relname from pg_catalog.pg_index as x join pg_catalog.pg_class as i on i.oid = x.indexrelid
    where x.indrelid = c.oid and x.indisreplident
  ) as identity_index
  into found
  from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  where c.oid = given;
  if found.relkind is null or found.relkind <> 'r' or found.relpersistence <> 'p' or found.relispartition then
    return 'kind';
  end if;
  if found.nspname in (
    '_realtime', 'auth', 'cron', 'extensions', 'graphql', 'graphql_public', 'headwater', 'headwater_history', 'information_schema',
    'net', 'pgbouncer', 'pgmq', 'pgsodium', 'pgtle', 'realtime', 'storage', 'supabase_functions', 'supabase_migrations', 'vault'
  ) or found.nspname like 'pg\_%' then
    return 'platform';
  end if;
  select pg_catalog.array_agg(a.attname::text order by k.place) into columns
  from pg_catalog.pg_index as i
  cross join pg_catalog.unnest(i.indkey::int2[]) with ordinality as k (number, place)
  join pg_catalog.pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.number
  where i.indrelid = given and i.indisprimary and k.place <= i.indnkeyatts;
  if columns is null then
    return 'key';
  end if;
  problem := headwater.unpublished_columns(given);
  if problem <> '' then
    return problem;
  end if;
  name := pg_catalog.format('%I.%I', found.nspname, found.relname);
  if found.relreplident <> 'f' then
    execute 'alter table only ' || name || ' replica identity full';
  end if;
  if not exists (
    select from pg_catalog.pg_trigger where tgrelid = given and tgname = 'headwater_history' and tgenabled = 'A'
      and tgfoid = 'headwater.write_cause()'::pg_catalog.regprocedure
  ) then
    execute 'drop trigger if exists headwater_history on ' || name;
    execute 'create trigger headwater_history before insert or update or delete or truncate on ' || name
      || ' for each statement execute function headwater.write_cause()';
    execute 'alter table only ' || name || ' enable always trigger headwater_history';
  end if;
  select * into held from headwater_history.tables as t where t.relation = given;
  if held.id is null then
    insert into headwater_history.tables (relation, table_schema, table_name, key, days, former_identity, former_index, since_lsn)
    values (
      given, found.nspname, found.relname, columns, wanted, found.relreplident::text, found.identity_index,
      (pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8
    )
    returning id into fresh;
    execute pg_catalog.format(
      'create table headwater_history.%I partition of headwater_history.versions for values in (%s) partition by range (at)',
      'v' || fresh, fresh);
    return '';
  end if;
  if not held.is_on then
    insert into headwater_history.gaps (table_id, after_lsn, reason, at)
    values (held.id, held.since_lsn, 'the history of this table was off', coalesce(held.ended_at, pg_catalog.now()))
    on conflict do nothing;
    update headwater_history.tables as t
    set is_on = true, since = pg_catalog.clock_timestamp(), ended_at = null, former_identity = found.relreplident::text,
      former_index = found.identity_index, since_lsn = (pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8
    where t.id = held.id;
  elsif found.relreplident <> 'f' then
    update headwater_history.tables as t
    set former_identity = found.relreplident::text, former_index = found.identity_index where t.id = held.id;
  end if;
  update headwater_history.tables as t
  set days = wanted, table_schema = found.nspname, table_name = found.relname, key = columns
  where t.id = held.id
    and (t.days, t.table_schema, t.table_name, t.key) is distinct from (wanted, found.nspname::text, found.relname::text, columns);
  return '';
end $$;

revoke all on function headwater.unpublished_columns(oid) from public;
grant execute on function headwater.unpublished_columns(oid) to headwater_scheduler, headwater_management;

-- A publication that lacks generated columns ends the history of their table at the next look, which a change of publications asks for.
create or replace function headwater.watch_publications() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (
    select from headwater_history.tables as t
    join pg_attribute as a on a.attrelid = t.relation and a.attgenerated <> '' and not a.attisdropped
    where t.is_on
  ) then
    notify pgrst, 'reload schema';
  end if;
end $$;
revoke all on function headwater.watch_publications() from public;
drop event trigger if exists headwater_watch_publications;
create event trigger headwater_watch_publications on ddl_command_end
  when tag in ('CREATE PUBLICATION', 'ALTER PUBLICATION') execute function headwater.watch_publications();
alter event trigger headwater_watch_publications enable always;
