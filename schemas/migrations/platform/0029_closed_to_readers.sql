-- What readers' SQL must not do: open sessions through dblink and postgres_fdw, and hold up changes of the schema.
-- as: superuser

-- The transaction that changed the schema holds this lock until others can see the commit (realtime.schema_known). It excludes nobody. It was an
-- advisory lock, which every session may take: a reader's `pg_advisory_lock(1751474797, 1)` made each change of the schema wait. A table
-- lock of this mode takes rights on the table, which the superuser alone has; reading the table, as a dump does, takes another mode.
create or replace function headwater.hold_schema() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  lock table headwater.migrations in row share mode;
end $$;
revoke all on function headwater.hold_schema() from public;

do $$
declare
  role text;
begin
  foreach role in array array[
    'postgres', 'supabase_auth_admin', 'supabase_storage_admin', 'supabase_realtime_admin', 'supabase_functions_admin'
  ] loop
    if pg_catalog.to_regrole(role) is not null then
      execute pg_catalog.format('grant usage on schema headwater to %I', role);
      execute pg_catalog.format('grant execute on function headwater.hold_schema() to %I', role);
    end if;
  end loop;
end $$;

create or replace function headwater.mark_schema() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_event = 'sql_drop' then
    if not exists (select from pg_catalog.pg_event_trigger_dropped_objects() as gone where not gone.is_temporary) then
      return;
    end if;
  elsif not exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() as done where done.schema_name is distinct from 'pg_temp'
  ) then
    return;
  end if;
  lock table headwater.migrations in row share mode;
  perform pg_catalog.pg_logical_emit_message(true, 'headwater', 'schema');
end $$;

-- Functions that open sessions elsewhere are for the roles of the project and its API, not for everybody: a reader's session would become
-- that of any role whose password it knows. What the extension itself took from public stays taken.
create or replace function headwater.close_links(extension text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  routine text;
begin
  for routine in
    select made.oid::pg_catalog.regprocedure::text
    from pg_catalog.pg_extension as extended
    join pg_catalog.pg_depend as part on part.refobjid = extended.oid and part.deptype = 'e'
      and part.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass
      and part.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
    join pg_catalog.pg_proc as made on made.oid = part.objid
    where extended.extname = extension and (
      made.proacl is null
      or exists (select from pg_catalog.aclexplode(made.proacl) as given where given.grantee = 0))
  loop
    execute pg_catalog.format('revoke all on function %s from public', routine);
    execute pg_catalog.format('grant execute on function %s to postgres with grant option', routine);
    execute pg_catalog.format('grant execute on function %s to anon, authenticated, service_role', routine);
  end loop;
end $$;
revoke all on function headwater.close_links(text) from public;

create or replace function headwater.close_links_of_extension() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  made text;
begin
  for made in
    select extname from pg_catalog.pg_event_trigger_ddl_commands() as done
    join pg_catalog.pg_extension on pg_extension.oid = done.objid
    where done.classid = 'pg_catalog.pg_extension'::pg_catalog.regclass and extname in ('dblink', 'postgres_fdw')
  loop
    perform headwater.close_links(made);
  end loop;
end $$;
revoke all on function headwater.close_links_of_extension() from public;

drop event trigger if exists headwater_extension_links;
create event trigger headwater_extension_links on ddl_command_end
  when tag in ('CREATE EXTENSION', 'ALTER EXTENSION') execute function headwater.close_links_of_extension();
alter event trigger headwater_extension_links enable always;
select headwater.close_links('dblink'), headwater.close_links('postgres_fdw');
