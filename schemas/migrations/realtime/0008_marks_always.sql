-- Schema changes are marked in the log always, by functions that no project can drop (platform, 0018); no name is looked up in pg_temp.
-- as: superuser

create or replace function realtime.schema_known(out lsn pg_lsn, out is_settled boolean, out is_marked boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  lsn := pg_catalog.pg_current_wal_insert_lsn();
  perform pg_catalog.pg_stat_clear_snapshot();
  is_settled := not exists (
    select from pg_catalog.pg_locks as held
    left join pg_catalog.pg_stat_activity as holder on holder.pid = held.pid
    where held.locktype = 'advisory' and held.classid = 1751474797 and held.objid = 1 and held.objsubid = 2
      and held.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
      and holder.state is distinct from 'idle in transaction'
      and holder.state is distinct from 'idle in transaction (aborted)'
  );
  is_marked := 2 = (
    select pg_catalog.count(*) from pg_catalog.pg_event_trigger
    where evtname in ('headwater_mark_changes', 'headwater_mark_drops') and evtenabled = 'A'
  );
end $$;

-- as: supabase_realtime_admin

alter function realtime.keep_partitions() set search_path = pg_catalog, pg_temp;
