-- What the sessions of administrators read, and what their logins are: the pool management keeps both as they should be.
-- as: superuser

-- Let readers read what is new in the database: all schemas, tables, views and sequences but those of the server and of schema
-- headwater. Returns how many grants were missing. GRANT runs no code of a project: event triggers are off meanwhile, and before
-- Postgres 17 those of role postgres do nothing for a superuser (headwater.copy_event_function).
create or replace function headwater.grant_reads() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  reader constant name := 'supabase_read_only_user';
  triggers constant text := pg_catalog.current_setting('event_triggers', true);  -- unknown before Postgres 17
  object record;
  granted integer := 0;
begin
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', 'off', true);
  end if;
  for object in
    with readable as (
      select oid, nspname from pg_catalog.pg_namespace
      where nspname not in ('headwater', 'information_schema') and nspname not like 'pg\_%'
    )
    select pg_catalog.format('grant usage on schema %I to %I', nspname, reader) as command
    from readable
    where not pg_catalog.has_schema_privilege(reader, oid, 'usage')
    union all
    select pg_catalog.format('grant select on %I.%I to %I', nspname, relation.relname, reader)
    from readable
    join pg_catalog.pg_class as relation on relation.relnamespace = readable.oid
    where relation.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and not pg_catalog.has_table_privilege(reader, relation.oid, 'select')
  loop
    begin
      execute object.command;
      granted := granted + 1;
    exception
      -- It was dropped, or is being changed, at this moment: the next call grants it.
      when undefined_table or invalid_schema_name or lock_not_available or internal_error then
        null;
    end;
  end loop;
  if triggers is not null then
    perform pg_catalog.set_config('event_triggers', triggers, true);
  end if;
  return granted;
end $$;
revoke all on function headwater.grant_reads() from public;
grant execute on function headwater.grant_reads() to headwater_management;

-- Set the password and the settings of a login for SQL of administrators again, if they are others. Returns whether they were.
-- Postgres lets each role change its own, and code of a project in a session of the login may (`set role none; alter role
-- current_user password ...`), after which no process could open a session with it.
create or replace function headwater.restore_session_login(login text, verifier text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  expected text[] := array['statement_timeout=60s', 'idle_in_transaction_session_timeout=60s'];
  role_id oid;
  present text[];
  other record;
begin
  if login not in ('headwater_developer', 'headwater_reader', 'headwater_viewer') then
    raise exception 'there is no such login' using errcode = '22023';
  end if;
  if verifier not like 'SCRAM-SHA-256$%' then
    raise exception 'not a verifier of SCRAM-SHA-256' using errcode = '22023';
  end if;
  if login = 'headwater_reader' then
    expected := expected || 'default_transaction_read_only=on'::text;
  end if;
  select oid into role_id from pg_catalog.pg_authid where rolname = login;
  select setconfig into present from pg_catalog.pg_db_role_setting where setrole = role_id and setdatabase = 0;
  if present @> expected and present <@ expected
    and exists (select from pg_catalog.pg_authid where oid = role_id and rolpassword = verifier)
    and not exists (select from pg_catalog.pg_db_role_setting where setrole = role_id and setdatabase <> 0)
  then
    return false;
  end if;
  for other in
    select datname from pg_catalog.pg_db_role_setting as setting
    join pg_catalog.pg_database as present_database on present_database.oid = setting.setdatabase
    where setting.setrole = role_id
  loop
    execute pg_catalog.format('alter role %I in database %I reset all', login, other.datname);
  end loop;
  execute pg_catalog.format('alter role %I reset all', login);
  execute pg_catalog.format('alter role %I set statement_timeout = %L', login, '60s');
  execute pg_catalog.format('alter role %I set idle_in_transaction_session_timeout = %L', login, '60s');
  if login = 'headwater_reader' then
    execute pg_catalog.format('alter role %I set default_transaction_read_only = on', login);
  end if;
  execute pg_catalog.format('alter role %I password %L', login, verifier);
  return true;
end $$;
revoke all on function headwater.restore_session_login(text, text) from public;
grant execute on function headwater.restore_session_login(text, text) to headwater_management;

-- When the platform first prepared the database: readers cannot look it up themselves any more.
grant select on headwater.migrations to headwater_management;
