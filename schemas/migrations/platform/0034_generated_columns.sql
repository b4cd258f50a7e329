-- Row changes have the stored generated columns of a table, from Postgres 18 on.
-- as: superuser

-- Before 18 the log has no values of them and needs none. Since 18 updates and deletions fail on a table with such a column and
-- `replica identity full`, as chats have it, unless each publication of the table has the column too. Projects create their publication
-- anew (`drop publication ...; create publication supabase_realtime`), so an event trigger sets the option again, as the role that
-- created it: rights of the superuser would reach event triggers of the project.
create or replace function headwater.publish_generated_columns() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if pg_catalog.current_setting('server_version_num')::int >= 180000 then
    if exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime' and pubgencols = 'n') then
      alter publication supabase_realtime set (publish_generated_columns = stored);
    end if;
  end if;
end $$;
revoke all on function headwater.publish_generated_columns() from public;

do $$
begin
  if pg_catalog.current_setting('server_version_num')::int >= 180000 then
    if exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime' and pubgencols = 'n') then
      alter publication supabase_realtime set (publish_generated_columns = stored);
    end if;
  end if;
end $$;

drop event trigger if exists headwater_publish_generated_columns;
create event trigger headwater_publish_generated_columns on ddl_command_end
  when tag in ('CREATE PUBLICATION') execute function headwater.publish_generated_columns();
alter event trigger headwater_publish_generated_columns enable always;
