-- Logins as which the scheduler runs jobs: one for each owner, a member of that owner and of nothing else.
-- as: superuser

-- Whoever sets a role can reset it, so a session that could become anybody must not run a job. A login of this kind can
-- become its owner only: RESET ROLE, SET ROLE and SET SESSION AUTHORIZATION inside a job gain nothing. The scheduler connects
-- as the login with `role` set to the owner from the start.
create table if not exists headwater.last_runs (
  schedule text primary key,
  due timestamptz not null
);

comment on table headwater.last_runs is 'The moment of each schedule that was begun last: no moment is begun twice';

-- Whether tables cron.job and net.http_request_queue are those of our extensions: what a superuser made, with our triggers.
create or replace function headwater.scheduler_serves(out jobs boolean, out requests boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select
    bool_or(tgname = 'headwater_guard_owner' and tgrelid = to_regclass('cron.job')) is true,
    bool_or(tgname = 'headwater_notice' and tgrelid = to_regclass('net.http_request_queue')) is true
  from pg_trigger
  join pg_class on pg_class.oid = tgrelid
  join pg_roles on pg_roles.oid = relowner and rolsuper
  where tgname in ('headwater_guard_owner', 'headwater_notice')
$$;

-- Give the name of the login for jobs of an owner, with the given SCRAM verifier as its password.
create or replace function headwater.job_login(owner text, verifier text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  prefix constant text := 'headwater_job_' || (select oid from pg_database where datname = current_database()) || '_';
  owned pg_roles;
  login text;
  is_found boolean;
begin
  if verifier !~ '^SCRAM-SHA-256\$' then
    raise exception 'a SCRAM verifier is wanted' using errcode = 'invalid_parameter_value';
  end if;
  select * into owned from pg_roles where rolname = owner;
  if owned.oid is null then
    raise exception 'role "%" does not exist', owner using errcode = 'undefined_object';
  elsif owned.rolsuper or owned.rolname ~ '^pg_' or owned.rolname ~ '^headwater_' then
    raise exception 'jobs of role "%" are not run: only those of ordinary roles are', owner
      using errcode = 'insufficient_privilege';
  elsif not (select jobs from headwater.scheduler_serves()) then
    raise exception 'there are no jobs' using errcode = 'insufficient_privilege';
  end if;
  execute 'select true from cron.job where username = $1 limit 1' into is_found using owner;
  if is_found is null then
    raise exception 'role "%" has no jobs', owner using errcode = 'insufficient_privilege';
  end if;
  login := prefix || owned.oid;
  if not exists (select from pg_roles where rolname = login) then
    execute format('create role %I', login);
  end if;
  execute format(
    'alter role %I login noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit -1 password %L',
    login, verifier);
  execute format('alter role %I reset all', login);
  execute format('grant %I to %I', owner, login);
  return login;
end $$;

-- Begin as the only scheduler: sessions of one before it are ended, logins of owners that are gone are dropped.
create or replace function headwater.take_over_jobs() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  prefix constant text := 'headwater_job_' || (select oid from pg_database where datname = current_database()) || '_';
  ended integer;
  login name;
begin
  select count(pg_terminate_backend(pid)) into ended from pg_stat_activity where starts_with(usename, prefix);
  for login in
    select rolname
    from pg_roles
    where starts_with(rolname, prefix)
      and not exists (select from pg_roles owned where owned.oid::text = substr(pg_roles.rolname, length(prefix) + 1))
  loop
    execute format('drop role %I', login);
  end loop;
  return ended;
end $$;

revoke all on function headwater.job_login(text, text), headwater.take_over_jobs(), headwater.scheduler_serves() from public;
grant usage on schema headwater to headwater_scheduler;
grant select, insert, update, delete on headwater.last_runs to headwater_scheduler;
grant execute on function headwater.job_login(text, text), headwater.take_over_jobs(), headwater.scheduler_serves()
  to headwater_scheduler;
