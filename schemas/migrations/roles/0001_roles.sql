-- The roles that projects of this kind name, with what they may become. Roles that exist keep their attributes.
-- as: superuser

do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('supabase_admin', 'superuser createdb createrole replication bypassrls login'),
      ('postgres', 'login createdb createrole replication bypassrls nosuperuser'),
      ('anon', 'nologin inherit'),
      ('authenticated', 'nologin inherit'),
      ('service_role', 'nologin bypassrls'),
      ('authenticator', 'login noinherit'),
      ('supabase_auth_admin', 'login noinherit createrole'),
      ('supabase_storage_admin', 'login noinherit createrole'),
      ('supabase_realtime_admin', 'nologin noinherit'),
      ('supabase_functions_admin', 'login noinherit createrole'),
      ('supabase_replication_admin', 'login replication'),
      ('supabase_read_only_user', 'login bypassrls'),
      ('supabase_etl_admin', 'login replication'),
      ('pgbouncer', 'login'),
      ('dashboard_user', 'nologin createdb createrole replication')
    ) as roles (name, attributes)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted.name) then
      execute pg_catalog.format('create role %I %s', wanted.name, wanted.attributes);
    end if;
  end loop;
end $$;

grant anon, authenticated, service_role to authenticator;
grant authenticator to supabase_storage_admin;
grant pg_read_all_data to supabase_read_only_user;
grant pg_read_all_data, pg_monitor to supabase_etl_admin;

-- Role postgres is no superuser; it manages these instead. A server whose own superuser has that name needs no grant.
do $$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres') then
    grant anon, authenticated, service_role, authenticator, supabase_auth_admin, supabase_storage_admin,
      supabase_realtime_admin, supabase_functions_admin to postgres with admin option;
    grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres with admin option;
    if pg_catalog.current_setting('server_version_num')::int >= 160000 then
      grant pg_create_subscription to postgres with admin option;
    end if;
  end if;
end $$;

alter role supabase_admin set search_path = "$user", public, auth, extensions;
alter role postgres set search_path = "$user", public, extensions;
alter role anon set statement_timeout = '3s';
alter role authenticated set statement_timeout = '8s';
alter role authenticator set statement_timeout = '8s';
alter role authenticator set lock_timeout = '8s';
alter role supabase_auth_admin set search_path = auth;
alter role supabase_auth_admin set idle_in_transaction_session_timeout = 60000;
alter role supabase_storage_admin set search_path = storage;
