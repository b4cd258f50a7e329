-- What settings decide about the database (settings_state.py): read by one statement, changed where it differs.

-- name: state
-- Verifiers of the login roles in $1, settings of this database, and the last decisions. Superusers and the current role keep
-- their passwords, because the settings do not name those. Then extensions of the platform that an earlier script created, with
-- the version that corrects them: http 1.6 looked names up in its own schema (schemas/extensions/http--1.6--1.6.1.sql), http 1.6.1
-- called a procedure without a search path of its own (http--1.6.1--1.6.2.sql), http 1.6.2 had no rows for failed requests (http--1.6.2--1.6.3.sql), and the table
-- of supabase_vault 0.3.1 was the superuser's, so no table could refer to it (supabase_vault--0.3.1--0.3.2.sql). A table and a
-- function distinguish ours from compiled ones of these names. The applied migrations, and logins that a killed process may have left
-- behind (sessions/throwaway_logins.py), are read by the same statement, so that a start with nothing to do needs one query (migrate.py).
select 'password' as kind, rolname::text as name, rolpassword as value
from pg_catalog.pg_authid
where rolname = any($1::text[])
  and not rolsuper
  and rolname <> current_user
union all
select 'setting', pg_catalog.split_part(entry, '=', 1), pg_catalog.substr(entry, pg_catalog.strpos(entry, '=') + 1)
from pg_catalog.pg_db_role_setting
cross join pg_catalog.unnest(setconfig) as entry
where setrole = 0
  and setdatabase = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
union all
select 'decision', name, value from headwater.decisions
union all
select 'extension', installed.extname::text, '1.6.3'
from pg_catalog.pg_extension as installed
where installed.extname operator(pg_catalog.=) 'http' and installed.extversion operator(pg_catalog.=) any(array['1.6', '1.6.1', '1.6.2'])
  and exists (
    select from pg_catalog.pg_available_extension_versions as offered
    where offered.name operator(pg_catalog.=) 'http' and offered.version operator(pg_catalog.=) '1.6.3'
  )
  and exists (
    select from pg_catalog.pg_class as login
    where login.relname operator(pg_catalog.=) 'http_headwater_login'
      and login.relnamespace operator(pg_catalog.=) installed.extnamespace
  )
union all
select 'extension', 'supabase_vault', '0.3.2'
from pg_catalog.pg_extension as installed
where installed.extname operator(pg_catalog.=) 'supabase_vault' and installed.extversion operator(pg_catalog.=) '0.3.1'
  and exists (
    select from pg_catalog.pg_available_extension_versions as offered
    where offered.name operator(pg_catalog.=) 'supabase_vault' and offered.version operator(pg_catalog.=) '0.3.2'
  )
  and pg_catalog.to_regprocedure('vault._headwater_seal(pg_catalog.text, pg_catalog.uuid, pg_catalog.bytea)') is not null
union all
select 'throwaway login', rolname::text, null
from pg_catalog.pg_roles
where pg_catalog.starts_with(
  rolname,
  'headwater_login_'
    || (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())::text
    || '_')
union all
select 'migration', pg_catalog.format('%s/%s', series, version), checksum from headwater.migrations

-- name: pass_values
-- Stores a name and a value in settings for the next statement, which cannot take parameters.
select pg_catalog.set_config('headwater.name', $1, true), pg_catalog.set_config('headwater.value', $2, true)

-- name: password
do $$ begin
  execute pg_catalog.format(
    'alter role %I password %L',
    pg_catalog.current_setting('headwater.name'), pg_catalog.current_setting('headwater.value'));
end $$

-- name: no_password
do $$ begin
  execute pg_catalog.format('alter role %I password null', pg_catalog.current_setting('headwater.name'));
end $$

-- name: update_extension
-- By the superuser, to whom the members belong; role postgres may own the extension, and could run the same script itself.
do $$ begin
  execute pg_catalog.format(
    'alter extension %I update to %L',
    pg_catalog.current_setting('headwater.name'), pg_catalog.current_setting('headwater.value'));
end $$

-- name: setting
do $$ begin
  execute pg_catalog.format(
    'alter database %I set %I to %L', pg_catalog.current_database(),
    pg_catalog.current_setting('headwater.name'), pg_catalog.current_setting('headwater.value'));
end $$

-- name: remove_setting
do $$ begin
  execute pg_catalog.format(
    'alter database %I reset %I', pg_catalog.current_database(), pg_catalog.current_setting('headwater.name'));
end $$

-- name: expose_new_tables
alter default privileges for role postgres, supabase_admin in schema public
  grant all on tables to anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
  grant all on sequences to anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
  grant all on functions to anon, authenticated, service_role

-- name: hide_new_tables
alter default privileges for role postgres, supabase_admin in schema public
  revoke all on tables from anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
  revoke all on sequences from anon, authenticated, service_role;
alter default privileges for role postgres, supabase_admin in schema public
  revoke all on functions from anon, authenticated, service_role

-- name: decision
insert into headwater.decisions (name, value)
select pg_catalog.current_setting('headwater.name'), pg_catalog.current_setting('headwater.value')
on conflict (name) do update set value = excluded.value

-- name: decide
insert into headwater.decisions (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value
