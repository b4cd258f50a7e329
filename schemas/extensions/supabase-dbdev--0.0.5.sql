-- The package manager of database.dev as far as projects call it: packages of which this server has a stand-in count as installed.
--
-- The original downloads the script of a package and runs it. Here nothing is downloaded or run. The script runs as the role
-- that creates the extension, and its function with the rights of its caller.

\echo Use "CREATE EXTENSION "supabase-dbdev"" to load this file. \quit

set local search_path = pg_catalog, pg_temp;

create schema dbdev;

-- Return true for a package that CREATE EXTENSION finds; any other is an error.
create function dbdev.install(package_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from pg_available_extensions as offered
    where offered.name = package_name and not starts_with(coalesce(offered.comment, ''), 'not available: ')
  ) then
    raise notice 'package "%" is an extension of this server: nothing was installed', package_name;
    return true;
  end if;
  raise exception 'package "%" is not available here: packages of database.dev are not loaded', package_name
    using errcode = 'feature_not_supported',
      hint = 'Put its SQL into a migration, or into a first file of the tests (supabase/tests/000-helpers.sql).';
end
$$;
