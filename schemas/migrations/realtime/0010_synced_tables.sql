-- The publication of tables that have shapes (workers/sync), and the function by which the pool adds one.
-- as: superuser

-- Its name begins with that of the publications that dumps leave out. Partitions publish under their own names: the pool
-- knows the tree, and how supabase_realtime publishes partitioned tables is the project's choice.
do $$
begin
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime_sync') then
    create publication supabase_realtime_sync;
  end if;
end $$;

-- Publish one table of a project, and return why it cannot be: '' if it is published. A table without a replica identity is
-- rejected, because its updates and deletes would fail from then on; so is one whose columns another publication of the
-- platform's reader lists, because the server cannot read both.
create or replace function realtime.publish_for_sync(relation oid) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  name text;
  found record;
begin
  select c.relkind, c.relreplident, c.relpersistence, n.nspname, c.relname, exists (
    select from pg_catalog.pg_index as i
    where i.indrelid = c.oid and (case c.relreplident when 'd' then i.indisprimary else i.indisreplident end)
  ) as has_index
  into found
  from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  where c.oid = relation;
  if found.relkind is null or found.relkind not in ('r', 'p') or found.relpersistence <> 'p'
    or found.nspname in ('pg_catalog', 'information_schema') then
    return 'kind';
  end if;
  if found.relreplident = 'n' or (found.relreplident in ('d', 'i') and not found.has_index) then
    return 'identity';
  end if;
  if exists (
    select from pg_catalog.pg_publication_rel as r join pg_catalog.pg_publication as p on p.oid = r.prpubid
    where r.prrelid = relation and r.prattrs is not null
      and p.pubname in ('supabase_realtime', 'supabase_realtime_messages_publication')
  ) then
    return 'columns';
  end if;
  if not exists (
    select from pg_catalog.pg_publication_rel as r join pg_catalog.pg_publication as p on p.oid = r.prpubid
    where r.prrelid = relation and p.pubname = 'supabase_realtime_sync'
  ) then
    name := pg_catalog.format('%I.%I', found.nspname, found.relname);
    execute 'alter publication supabase_realtime_sync add table only ' || name;
  end if;
  return '';
exception when duplicate_object then  -- another worker added it a moment ago
  return '';
end $$;

-- Take tables out of the publication whose columns another publication lists since then, and return how many there were: the
-- server cannot read both.
create or replace function realtime.unpublish_listed() returns int
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  name text;
  dropped int := 0;
begin
  for name in
    select pg_catalog.format('%I.%I', n.nspname, c.relname)
    from pg_catalog.pg_publication_rel as ours
    join pg_catalog.pg_publication as p on p.oid = ours.prpubid and p.pubname = 'supabase_realtime_sync'
    join pg_catalog.pg_class as c on c.oid = ours.prrelid
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where exists (
      select from pg_catalog.pg_publication_rel as r join pg_catalog.pg_publication as other on other.oid = r.prpubid
      where r.prrelid = ours.prrelid and r.prattrs is not null
        and other.pubname in ('supabase_realtime', 'supabase_realtime_messages_publication'))
  loop
    execute 'alter publication supabase_realtime_sync drop table only ' || name;
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;

-- Transactions that have written to a table and are still running: their earlier changes may not be in the log of the publication.
create or replace function realtime.writers_of(relations oid[]) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select distinct held.virtualtransaction
  from pg_catalog.pg_locks as held
  where held.locktype = 'relation' and held.relation = any (relations) and held.granted
    and held.mode in ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    and held.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
$$;

revoke all on function realtime.publish_for_sync(oid), realtime.unpublish_listed(), realtime.writers_of(oid[]) from public;
grant execute on function realtime.publish_for_sync(oid), realtime.unpublish_listed(), realtime.writers_of(oid[]) to authenticator;
