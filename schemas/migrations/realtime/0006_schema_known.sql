-- Who reads the catalog can tell up to which position of the log he knows every change of the schema.
-- as: superuser

-- A commit stands in the log before others can see it. Until they can, the transaction holds the lock that is looked for here,
-- which excludes nobody (platform/0018, headwater.mark_schema): so it is known of whom one cannot be sure yet.

-- Gives a position of the log, and whether a statement that begins after this one sees every schema change up to there.
-- Not, while a transaction that changed the schema may be on its way from the log to the others' sight; one that waits for
-- its client was not committing when the position was read. `is_marked`: schema changes are marked in the log at all.
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
    where evtname in ('headwater_mark_changes', 'headwater_mark_drops') and evtenabled in ('O', 'A')
  );
end $$;

revoke all on function realtime.schema_known() from public;
grant execute on function realtime.schema_known() to authenticator;
