-- Role postgres creates foreign servers of postgres_fdw, as on the reference's image.
-- as: superuser

-- It opens no more than dblink, which the role has: a session needs a password in the user mapping, which only a superuser can
-- switch off, and the server that is reached must have asked for it. Readers get no right on servers, so they make no mapping of their own.
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
    if made = 'postgres_fdw' then
      grant usage on foreign data wrapper postgres_fdw to postgres;
    end if;
  end loop;
end $$;
revoke all on function headwater.close_links_of_extension() from public;

do $$
begin
  if exists (
    select from pg_catalog.pg_foreign_data_wrapper as wrapper
    join pg_catalog.pg_depend as part on part.objid = wrapper.oid and part.deptype = 'e'
      and part.classid = 'pg_catalog.pg_foreign_data_wrapper'::pg_catalog.regclass
    join pg_catalog.pg_extension as extended on extended.oid = part.refobjid and extended.extname = 'postgres_fdw'
    where wrapper.fdwname = 'postgres_fdw'
  ) then
    grant usage on foreign data wrapper postgres_fdw to postgres;
  end if;
end $$;
