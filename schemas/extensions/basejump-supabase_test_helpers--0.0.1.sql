-- Helpers of tests under the names of basejump-supabase_test_helpers, written anew from its description.
--
-- How it is built:
-- - The script runs as the role that creates the extension (role postgres), to which schemas and functions belong.
-- - A user of a test is a row of auth.users whose `raw_user_meta_data` holds `test_identifier`. Roles of the API may create and
--   find users within a test, so these functions run with the owner's rights. A call is refused unless the session's login may
--   become that owner: whoever reaches the functions over the data API, whose login may not, gets an error.
-- - A test is authenticated by the settings `role` and `request.jwt.claims`, for the rest of its transaction.
-- - Frozen time is `test_overrides.now()`, found before `pg_catalog.now()` by the search path, which names pg_catalog at its
--   end. Functions with a search path of their own see it only if theirs does so too.
-- - All versions are the same: the scripts between them are empty.

\echo Use "CREATE EXTENSION "basejump-supabase_test_helpers"" to load this file. \quit

set local search_path = pg_catalog, pg_temp;

create schema tests;
create schema test_overrides;
grant usage on schema tests, test_overrides to anon, authenticated, service_role;

create function tests.headwater_check_login() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pg_has_role(session_user, (select nspowner from pg_namespace where nspname = 'tests'), 'member') then
    raise exception 'helpers of tests are for tests alone'
      using errcode = 'insufficient_privilege',
        hint = 'Run them in a session of role postgres, as "headwater test db" does, not over the data API.';
  end if;
end
$$;


-- Users

create function tests.create_supabase_user(
  identifier text, email text default null, phone text default null, metadata jsonb default null
) returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  made constant uuid := gen_random_uuid();
begin
  perform tests.headwater_check_login();
  insert into auth.users (id, email, phone, raw_user_meta_data, raw_app_meta_data, created_at, updated_at)
  values (
    made, coalesce(create_supabase_user.email, made || '@test.com'), create_supabase_user.phone,
    coalesce(metadata, '{}') || jsonb_build_object('test_identifier', identifier), '{}', now(), now()
  );
  return made;
end
$$;

create function tests.get_supabase_user(identifier text) returns json
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  result json;
begin
  perform tests.headwater_check_login();
  select json_build_object(
    'id', id, 'email', email, 'phone', phone,
    'raw_user_meta_data', raw_user_meta_data, 'raw_app_meta_data', raw_app_meta_data
  )
  into result
  from auth.users
  where raw_user_meta_data ->> 'test_identifier' = identifier
  limit 1;
  if result is null then
    raise exception 'User with identifier % not found', identifier;
  end if;
  return result;
end
$$;

create function tests.get_supabase_uid(identifier text) returns uuid
language sql
return (tests.get_supabase_user(identifier) ->> 'id')::uuid;


-- Authentication

-- Not in a function that runs with its owner's rights: the server refuses to change the role there.
create function tests.headwater_become(role text, claims text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform tests.headwater_check_login();
  perform set_config('role', role, true), set_config('request.jwt.claims', claims, true);
end
$$;

create function tests.authenticate_as(identifier text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  found constant json := tests.get_supabase_user(identifier);
begin
  perform tests.headwater_become('authenticated', json_build_object(
    'sub', found -> 'id', 'role', 'authenticated', 'email', found -> 'email', 'phone', found -> 'phone',
    'user_metadata', found -> 'raw_user_meta_data', 'app_metadata', found -> 'raw_app_meta_data'
  )::text);
end
$$;

create function tests.authenticate_as_service_role() returns void
language sql
return tests.headwater_become('service_role', '');

create function tests.clear_authentication() returns void
language sql
return tests.headwater_become('anon', '');


-- Row level security. `is` of pgTAP calls its other functions by the session's search path, so none is fixed here.

create function tests.headwater_is_zero(tables bigint, description text) returns text
language plpgsql
as $$
declare
  place constant pg_catalog.text := (
    select n.nspname from pg_catalog.pg_extension as e
    join pg_catalog.pg_namespace as n on n.oid operator(pg_catalog.=) e.extnamespace
    where e.extname operator(pg_catalog.=) 'pgtap'
  );
  line pg_catalog.text;
begin
  if place is null then
    raise exception 'rls_enabled needs the extension pgtap'
      using errcode = 'object_not_in_prerequisite_state', hint = 'create extension pgtap with schema extensions;';
  end if;
  execute pg_catalog.format('select %I."is"($1, 0::pg_catalog.int8, $2)', place) into line using tables, description;
  return line;
end
$$;

create function tests.rls_enabled(testing_schema text) returns text
language sql
return tests.headwater_is_zero(
  (
    select count(*) from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = testing_schema and c.relkind in ('r', 'p') and not c.relrowsecurity
  ),
  format('All tables in the %s schema should have row level security enabled', testing_schema)
);

create function tests.rls_enabled(testing_schema text, testing_table text) returns text
language sql
return tests.headwater_is_zero(
  (
    select 1 - count(*) from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = testing_schema and c.relname = testing_table and c.relkind in ('r', 'p') and c.relrowsecurity
  ),
  format('%s table in the %s schema should have row level security enabled', testing_table, testing_schema)
);


-- Time

create function test_overrides.now() returns timestamptz
language sql stable parallel safe
return coalesce(nullif(current_setting('tests.frozen_time', true), '')::timestamptz, now());

-- As JSON the time reads the same under every DateStyle. No fixed search path: it would take back the one that is set.
create function tests.freeze_time(frozen_time timestamptz) returns void
language sql
begin atomic
  select
    set_config('tests.frozen_time', to_json(frozen_time) #>> '{}', true),
    set_config(
      'tests.original_search_path',
      coalesce(nullif(current_setting('tests.original_search_path', true), ''), current_setting('search_path')), true);
  select set_config(
    'search_path', concat_ws(',', 'test_overrides', nullif(current_setting('tests.original_search_path'), ''), 'pg_catalog'), true);
  select null::void;
end;

create function tests.unfreeze_time() returns void
language sql
begin atomic
  select set_config('search_path', current_setting('tests.original_search_path'), true)
  where nullif(current_setting('tests.original_search_path', true), '') is not null;
  select set_config('tests.frozen_time', '', true), set_config('tests.original_search_path', '', true);
  select null::void;
end;

grant execute on all functions in schema tests, test_overrides to anon, authenticated, service_role;
