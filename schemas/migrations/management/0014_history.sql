-- History of rows (workers/history): the tables that have one, versions of their rows by day, gaps, and the functions that switch it.
-- as: superuser

-- A schema of this name that a project made before keeps its contents under another name: whoever owns a schema can drop what is in it.
do $$
begin
  if exists (
    select from pg_catalog.pg_namespace
    where nspname = 'headwater_history' and nspowner <> (select oid from pg_catalog.pg_roles where rolname = current_user)
  ) then
    execute pg_catalog.format('alter schema headwater_history rename to %I',
      'headwater_history_' || (select oid from pg_catalog.pg_namespace where nspname = 'headwater_history'));
  end if;
end $$;
create schema if not exists headwater_history;
revoke all on schema headwater_history from public;

create table if not exists headwater_history.tables (
  id int primary key generated always as identity,
  relation oid not null,
  table_schema text not null,
  table_name text not null,
  key text[] not null,
  days int not null check (days between 1 and 3650),
  former_identity text not null,
  former_index text,
  is_on boolean not null default true,
  since timestamptz not null default pg_catalog.clock_timestamp(),
  since_lsn bigint not null,
  ended_at timestamptz
);
comment on table headwater_history.tables is 'Tables with a history. key: columns of the primary key; since_lsn: changes committed behind it have versions';
create unique index if not exists tables_relation on headwater_history.tables (relation);

create table if not exists headwater_history.versions (
  table_id int not null,
  at timestamptz not null,
  lsn bigint not null,
  number int not null,
  index int not null,
  operation text not null check (operation in ('insert', 'update', 'delete', 'truncate')),
  key text,
  former_key text,
  before json,
  after json,
  omitted text[],
  source text not null,
  request_id text,
  role text,
  sub text,
  area text,
  request text,
  login text,
  by_trigger boolean not null default false,
  nonce text,
  issued_ms bigint,
  primary key (table_id, at, lsn, number, index)
) partition by list (table_id);
comment on table headwater_history.versions is 'Versions of rows. (lsn, number, index): position in the stream of changes. before: of an update the changed columns alone';
create index if not exists versions_key on headwater_history.versions (table_id, key, lsn);
create index if not exists versions_former_key on headwater_history.versions (table_id, former_key, lsn) where former_key is not null;

create table if not exists headwater_history.partitions (
  table_id int not null,
  name text not null,
  starts timestamptz not null,
  ends timestamptz not null,
  primary key (table_id, starts)
);
comment on table headwater_history.partitions is 'Partitions of versions by time of commit; one is dropped when its end is older than the days of its table';

create table if not exists headwater_history.gaps (
  table_id int not null,
  after_lsn bigint not null,
  reason text not null,
  at timestamptz not null default pg_catalog.clock_timestamp(),
  primary key (table_id, after_lsn, reason)
);
comment on table headwater_history.gaps is 'Where versions may be missing: behind this position of the log';

create table if not exists headwater_history.place (
  is_only boolean primary key default true check (is_only),
  stream text not null,
  seq bigint not null,
  lsn bigint not null
);
comment on table headwater_history.place is 'Up to where the stream of changes was read for history';

-- Writes into the log who writes to a table with history. Workers set headwater.cause, signed (workers/database/transactions/causes.py); the
-- rest is what the session says of itself. It runs as whoever writes, and calls nothing but the server.
create or replace function headwater.write_cause() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_catalog.pg_logical_emit_message(true, 'headwater.cause', pg_catalog.concat_ws(E'\n',
    coalesce(pg_catalog.current_setting('headwater.cause', true), ''), pg_catalog.pg_trigger_depth(), session_user,
    pg_catalog.current_setting('application_name')));
  return null;
end $$;

-- Switch the history of a table on, or change its days, and return why that cannot be: '' if it is on.
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
  -- Since Postgres 18 updates of such a table fail under a full replica identity, unless every publication has the columns.
  if exists (select from pg_catalog.pg_attribute as a where a.attrelid = given and a.attgenerated <> '' and not a.attisdropped) then
    return 'generated';
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

-- Switch the history of a table off: its trigger goes and its replica identity is as it was. Versions stay for their days.
create or replace function headwater.history_off(given int) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  held headwater_history.tables;
  found record;
  name text;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 4);
  select * into held from headwater_history.tables as t where t.id = given and t.is_on;
  if held.id is null then
    return;
  end if;
  select n.nspname, c.relname, c.relreplident into found
  from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  where c.oid = held.relation and c.relkind = 'r';
  if found.relname is not null then
    name := pg_catalog.format('%I.%I', found.nspname, found.relname);
    execute 'drop trigger if exists headwater_history on ' || name;
    if found.relreplident = 'f' and held.former_identity in ('d', 'n') then
      execute 'alter table only ' || name || ' replica identity '
        || case held.former_identity when 'd' then 'default' else 'nothing' end;
    elsif found.relreplident = 'f' and held.former_identity = 'i' and exists (
      select from pg_catalog.pg_index as x join pg_catalog.pg_class as i on i.oid = x.indexrelid
      where x.indrelid = held.relation and i.relname = held.former_index
    ) then
      execute 'alter table only ' || name || ' replica identity using index ' || pg_catalog.quote_ident(held.former_index);
    end if;
  end if;
  update headwater_history.tables as t
  set is_on = false, ended_at = pg_catalog.clock_timestamp(), since_lsn = (pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8
  where t.id = given;
end $$;

-- Make the partition for versions of a moment, if there is none.
create or replace function headwater.history_partition(given int, moment timestamptz) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  width interval;
  lower timestamptz;
  upper timestamptz;
  name text;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 4);
  if exists (
    select from headwater_history.partitions as p where p.table_id = given and p.starts <= moment and moment < p.ends
  ) then
    return;
  end if;
  select case when t.days <= 31 then interval '1 day' when t.days <= 400 then interval '7 days' else interval '30 days' end
  into strict width from headwater_history.tables as t where t.id = given;
  select greatest(pg_catalog.date_trunc('day', moment), max(p.ends)) into lower
  from headwater_history.partitions as p where p.table_id = given and p.ends <= moment;
  select least(lower + width, min(p.starts)) into upper
  from headwater_history.partitions as p where p.table_id = given and p.starts > moment;
  name := pg_catalog.format('v%s_%s', given, pg_catalog.to_char(lower, 'YYYYMMDDHH24MISSUS'));
  execute pg_catalog.format('create table headwater_history.%I partition of headwater_history.%I for values from (%L) to (%L)',
    name, 'v' || given, lower, upper);
  insert into headwater_history.partitions (table_id, name, starts, ends) values (given, name, lower, upper);
end $$;

-- Drop partitions that are older than the days of their table, and what is left of tables without any; return how many partitions went.
create or replace function headwater.history_expire() returns int
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  old record;
  dropped int := 0;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 4);
  for old in
    select p.table_id, p.starts, p.name from headwater_history.partitions as p
    join headwater_history.tables as t on t.id = p.table_id
    where p.ends < pg_catalog.now() - t.days * interval '1 day'
  loop
    execute pg_catalog.format('drop table headwater_history.%I', old.name);
    delete from headwater_history.partitions as p where p.table_id = old.table_id and p.starts = old.starts;
    dropped := dropped + 1;
  end loop;
  delete from headwater_history.gaps as g using headwater_history.tables as t
  where t.id = g.table_id and g.at < pg_catalog.now() - t.days * interval '1 day';
  for old in
    select t.id from headwater_history.tables as t
    where not t.is_on and t.ended_at < pg_catalog.now() - t.days * interval '1 day'
      and not exists (select from headwater_history.partitions as p where p.table_id = t.id)
  loop
    perform headwater.history_forget(old.id);
  end loop;
  return dropped;
end $$;

-- Remove all versions of a table, and the table from the list if its history is off.
create or replace function headwater.history_forget(given int) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
  old record;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 4);
  for old in select p.name from headwater_history.partitions as p where p.table_id = given loop
    execute pg_catalog.format('drop table headwater_history.%I', old.name);
  end loop;
  delete from headwater_history.partitions as p where p.table_id = given;
  delete from headwater_history.gaps as g where g.table_id = given;
  if exists (select from headwater_history.tables as t where t.id = given and not t.is_on) then
    execute pg_catalog.format('drop table headwater_history.%I', 'v' || given);
    delete from headwater_history.tables as t where t.id = given;
  end if;
end $$;

-- Empty the history of a copy of this database: its stream of changes is another one, and whoever gets the copy may not read the past.
create or replace function headwater.history_empty() returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  old record;
begin
  for old in select t.id from headwater_history.tables as t loop
    execute pg_catalog.format('drop table headwater_history.%I', 'v' || old.id);
  end loop;
  delete from headwater_history.partitions;
  delete from headwater_history.gaps;
  delete from headwater_history.place;
  delete from headwater_history.tables;
end $$;

revoke all on all tables in schema headwater_history from public;
revoke all on function headwater.write_cause(), headwater.history_on(oid, int), headwater.history_off(int),
  headwater.history_partition(int, timestamptz), headwater.history_expire(), headwater.history_forget(int), headwater.history_empty()
from public;
grant usage on schema headwater_history to headwater_scheduler, headwater_management, authenticator, postgres;
grant select, insert on headwater_history.versions, headwater_history.gaps to headwater_scheduler;
grant select on headwater_history.tables, headwater_history.partitions to headwater_scheduler;
grant select, insert, update, delete on headwater_history.place to headwater_scheduler;
grant execute on function headwater.history_on(oid, int), headwater.history_off(int), headwater.history_partition(int, timestamptz),
  headwater.history_expire() to headwater_scheduler;
grant select on headwater_history.tables, headwater_history.gaps, headwater_history.partitions
  to headwater_management, authenticator, postgres;
grant select on headwater_history.versions to authenticator, postgres;
grant select, update, delete on headwater_history.versions to headwater_management;
grant execute on function headwater.history_forget(int) to headwater_management;
