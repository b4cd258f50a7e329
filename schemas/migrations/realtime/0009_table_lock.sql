-- Changes of the schema that may be on their way to others' sight are found by a table lock, which only the platform can take (platform, 0029).
-- as: superuser

create or replace function realtime.schema_known(out lsn pg_lsn, out is_settled boolean, out is_marked boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  lsn := pg_catalog.pg_current_wal_insert_lsn();
  perform pg_catalog.pg_stat_clear_snapshot();
  is_settled := not exists (
    select from pg_catalog.pg_locks as held
    left join pg_catalog.pg_stat_activity as holder on holder.pid = held.pid
    where held.locktype = 'relation' and held.mode = 'RowShareLock'
      and held.relation = 'headwater.migrations'::pg_catalog.regclass::pg_catalog.oid
      and held.database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
      and holder.state is distinct from 'idle in transaction'
      and holder.state is distinct from 'idle in transaction (aborted)'
  );
  is_marked := 2 = (
    select pg_catalog.count(*) from pg_catalog.pg_event_trigger
    where evtname in ('headwater_mark_changes', 'headwater_mark_drops') and evtenabled = 'A'
  );
end $$;
