-- The login of the scheduler: it sees jobs and queued requests, and may ask for logins of the owners of jobs, no more.
-- as: superuser

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'headwater_scheduler') then
    create role headwater_scheduler login noinherit;
  end if;
end $$;

alter role headwater_scheduler set search_path = '';
alter role headwater_scheduler set statement_timeout = '30s';
alter role headwater_scheduler set idle_in_transaction_session_timeout = '30s';
