-- The publication of synced tables has their stored generated columns, from Postgres 18 on (platform/0034_generated_columns.sql).
-- as: superuser

do $$
begin
  if pg_catalog.current_setting('server_version_num')::int >= 180000 then
    if exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime_sync' and pubgencols = 'n') then
      alter publication supabase_realtime_sync set (publish_generated_columns = stored);
    end if;
  end if;
end $$;
