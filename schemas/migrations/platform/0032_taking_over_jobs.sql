-- A login of jobs that cannot be dropped keeps no scheduler from beginning.
-- as: superuser

-- Begin as the only scheduler: sessions of one before it are ended, logins of owners that are gone are dropped. One that owns something
-- (`reset role; create ...` in a job, or a role that the project gave such a name) cannot be: it stays, and nobody can log in as it.
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
    begin
      execute format('drop role %I', login);
    exception when dependent_objects_still_exist then
      execute format('alter role %I nologin password null', login);
    end;
  end loop;
  return ended;
end $$;
revoke all on function headwater.take_over_jobs() from public;
