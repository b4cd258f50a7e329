-- The login of the scheduler: it sees jobs and queued requests, and may ask for logins of the owners of jobs, no more.
-- as: superuser

do $$
declare
  member name;
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'headwater_scheduler') then
    create role headwater_scheduler;
  end if;
  -- Whoever may create roles could have made one of this name before: then it is nobody's but ours from now on.
  alter role headwater_scheduler nosuperuser nocreatedb nocreaterole noreplication nobypassrls login noinherit;
  for member in
    select member.rolname from pg_catalog.pg_auth_members as held
    join pg_catalog.pg_roles as member on member.oid = held.member
    where held.roleid = (select oid from pg_catalog.pg_roles where rolname = 'headwater_scheduler')
  loop
    execute pg_catalog.format('revoke headwater_scheduler from %I cascade', member);
  end loop;
end $$;

alter role headwater_scheduler set search_path = '';
alter role headwater_scheduler set statement_timeout = '30s';
alter role headwater_scheduler set idle_in_transaction_session_timeout = '30s';
