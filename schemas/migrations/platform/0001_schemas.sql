-- The schemas of the platform, who owns them and who may look into them.
-- as: superuser

create schema if not exists extensions authorization postgres;
create schema if not exists auth authorization supabase_auth_admin;
create schema if not exists storage authorization supabase_storage_admin;
create schema if not exists realtime authorization supabase_admin;
create schema if not exists _realtime authorization supabase_admin;
create schema if not exists graphql authorization supabase_admin;
create schema if not exists graphql_public authorization supabase_admin;
create schema if not exists vault authorization supabase_admin;
create schema if not exists net authorization supabase_admin;
create schema if not exists supabase_functions authorization supabase_admin;
create schema if not exists supabase_migrations authorization postgres;
create schema if not exists pgbouncer authorization pgbouncer;

do $$
begin
  execute pg_catalog.format('grant all on database %I to postgres, dashboard_user', pg_catalog.current_database());
  if not (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres') then
    execute pg_catalog.format('alter database %I owner to postgres', pg_catalog.current_database());
  end if;
end $$;

grant all on schema public to postgres;
grant usage on schema public, extensions, auth, storage, realtime, graphql_public, net
  to postgres, anon, authenticated, service_role;
grant all on schema auth, storage, realtime, graphql_public to postgres;
grant usage on schema graphql to postgres, anon, authenticated, service_role;
grant all on schema supabase_functions to postgres with grant option;
grant usage on schema supabase_functions to anon, authenticated, service_role;
grant usage on schema vault to postgres, service_role;
grant all on schema auth to dashboard_user;
grant all on schema storage to dashboard_user;
grant all on schema extensions to dashboard_user;
