-- pg_tle 1.5 as far as projects use it to load packages: extensions that this server offers anyway count as installed.
--
-- How it is built:
-- - The original keeps scripts of extensions in tables, for which it needs a compiled module. Here no script is kept or run:
--   a call for a name that `create extension` finds answers with a notice, any other name is an error that says what to do.
-- - The script runs as the role that creates the extension, and every function with the rights of its caller.

\echo Use "CREATE EXTENSION pg_tle" to load this file. \quit

set local search_path = pg_catalog, pg_temp;

-- The extensions that CREATE EXTENSION can create here. Those whose script only says why they cannot be had are not among them.
create function pgtle.available_extensions(out name name, out default_version text, out comment text) returns setof record
language sql stable
begin atomic
  select offered.name, offered.default_version, offered.comment
  from pg_available_extensions as offered
  where not starts_with(coalesce(offered.comment, ''), 'not available: ')
  order by 1;
end;

create function pgtle.headwater_keep(name text, action text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from pgtle.available_extensions() as offered where offered.name = headwater_keep.name) then
    raise notice 'extension "%" is the one of this server: nothing was %', headwater_keep.name, action;
    return true;
  end if;
  raise exception 'extension "%" is not available here: pg_tle has no compiled module that would keep its script', headwater_keep.name
    using errcode = 'feature_not_supported',
      hint = 'Run its script as a migration, or as a first file of the tests (supabase/tests/000-helpers.sql).';
end
$$;

create function pgtle.install_extension(
  name text, version text, description text, ext text, requires text[] default null, schema text default null
) returns boolean
language sql
return pgtle.headwater_keep(name, 'installed');

create function pgtle.install_extension_version_sql(name text, version text, ext text) returns boolean
language sql
return pgtle.headwater_keep(name, 'installed');

create function pgtle.install_update_path(name text, fromvers text, tovers text, ext text) returns boolean
language sql
return pgtle.headwater_keep(name, 'installed');

create function pgtle.set_default_version(name text, version text) returns boolean
language sql
return pgtle.headwater_keep(name, 'changed');

create function pgtle.uninstall_extension(extname text) returns boolean
language sql
return pgtle.headwater_keep(extname, 'uninstalled');

create function pgtle.uninstall_extension(extname text, version text) returns boolean
language sql
return pgtle.headwater_keep(extname, 'uninstalled');

-- False, as where the original has nothing to uninstall.
create function pgtle.uninstall_extension_if_exists(extname text) returns boolean
language sql
return false;
