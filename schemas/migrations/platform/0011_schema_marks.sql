-- Who reads the write-ahead log learns of schema, rights and policies before the rows that were changed after them.
-- as: superuser

create or replace function extensions.headwater_mark_schema() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- In the log in the order of commits: rows are judged by policies that are at least as new as they.
  if tg_event = 'sql_drop' then
    if exists (select from pg_catalog.pg_event_trigger_dropped_objects() as gone where not gone.is_temporary) then
      perform pg_catalog.pg_logical_emit_message(true, 'headwater', 'schema');
    end if;
  elsif exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() as done where done.schema_name is distinct from 'pg_temp'
  ) then
    perform pg_catalog.pg_logical_emit_message(true, 'headwater', 'schema');
  end if;
end $$;

revoke all on function extensions.headwater_mark_schema() from public;

drop event trigger if exists headwater_mark_changes;
create event trigger headwater_mark_changes on ddl_command_end execute function extensions.headwater_mark_schema();
drop event trigger if exists headwater_mark_drops;
create event trigger headwater_mark_drops on sql_drop execute function extensions.headwater_mark_schema();
