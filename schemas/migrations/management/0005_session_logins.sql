-- The logins for SQL of administrators as the platform made them, whatever a session did to its own login.
-- as: superuser

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
  if not pg_catalog.starts_with(verifier, 'SCRAM-SHA-256' || '$') then
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
