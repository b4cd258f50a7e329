-- The pooler looks up the verifier of a login that the project may use (services/supervisor/postgres/pooler.py).
-- as: superuser

-- Only its login `pgbouncer` may ask, which has a password where a pooler runs. Superusers and the platform's own logins are not
-- answered, so nobody reaches those through the pooler.
create or replace function pgbouncer.get_auth(name text) returns table (username text, password text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select login.rolname::text, login.rolpassword
  from pg_catalog.pg_authid as login
  where login.rolname = get_auth.name
    and login.rolcanlogin
    and not login.rolsuper
    and (login.rolvaliduntil is null or login.rolvaliduntil > pg_catalog.now())
    and login.rolname !~ '^(headwater|supabase)_'
    and login.rolname not in ('authenticator', 'pgbouncer', 'dashboard_user')
$$;
alter function pgbouncer.get_auth(text) owner to supabase_admin;
revoke all on function pgbouncer.get_auth(text) from public;
grant execute on function pgbouncer.get_auth(text) to pgbouncer;
