-- After CREATE EXTENSION of pg_cron, pg_net or pg_graphql their schemas are opened to the roles that use them.
-- as: superuser

create or replace function extensions.grant_on_extension() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  made text;
begin
  for made in
    select extname from pg_catalog.pg_event_trigger_ddl_commands() as done
    join pg_catalog.pg_extension on pg_extension.oid = done.objid
    where done.classid = 'pg_catalog.pg_extension'::pg_catalog.regclass
  loop
    if made = 'pg_cron' and pg_catalog.to_regnamespace('cron') is not null then
      grant usage on schema cron to postgres with grant option;
      grant all on all functions in schema cron to postgres with grant option;
      grant all on all sequences in schema cron to postgres with grant option;
      grant select on all tables in schema cron to postgres with grant option;
      grant delete on all tables in schema cron to postgres with grant option;
      if pg_catalog.to_regclass('cron.job') is not null then
        revoke delete on table cron.job from postgres;
      end if;
    elsif made = 'pg_net' and pg_catalog.to_regnamespace('net') is not null then
      grant usage on schema net to postgres, anon, authenticated, service_role, supabase_functions_admin;
      grant execute on all functions in schema net
        to postgres, anon, authenticated, service_role, supabase_functions_admin;
    elsif made = 'pg_graphql' and pg_catalog.to_regnamespace('graphql') is not null then
      grant usage on schema graphql to postgres, anon, authenticated, service_role;
      grant execute on all functions in schema graphql to postgres, anon, authenticated, service_role;
    end if;
  end loop;
end $$;

revoke all on function extensions.grant_on_extension() from public;
drop event trigger if exists headwater_extension_grants;
create event trigger headwater_extension_grants on ddl_command_end
  when tag in ('CREATE EXTENSION') execute function extensions.grant_on_extension();
