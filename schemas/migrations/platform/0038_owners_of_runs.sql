-- Callers of the interface start durable jobs as themselves, whatever the role of their token is; only the service role names another owner.
-- as: superuser

-- As platform/0033, where this held for the roles anon and authenticated by their names: a user with a role of the project's own that
-- inherits `execute` from authenticated could name any owner.
create or replace function headwater_jobs.start(
  job text, input jsonb default '{}', key text default null, run_at timestamptz default null, owner uuid default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  moment constant timestamptz := clock_timestamp();
  caller constant uuid := headwater_jobs.user_id();
  is_client constant boolean :=
    current_setting('role') in ('authenticated', 'anon') or session_user = 'authenticator' and current_setting('role') <> 'service_role';
  definition record;
  started uuid;
begin
  select * into definition from headwater_jobs.jobs where name = start.job and is_defined;
  if definition.name is null then
    raise exception 'there is no job %', left(start.job, 100) using errcode = 'undefined_object',
      hint = 'A function is a job by `[functions.NAME.job] enabled = true`; headwater_jobs.define names one for a program.';
  elsif is_client and start.owner is distinct from caller and start.owner is not null then
    raise exception 'a user starts jobs as themselves alone' using errcode = 'insufficient_privilege';
  elsif definition.unfinished >= 1000000 then
    raise exception 'a million runs of % have not ended', definition.name using errcode = 'configuration_limit_exceeded',
      hint = 'No more are started before some have ended.';
  elsif start.run_at > moment + interval '366 days' then
    raise exception 'run_at must be within a year' using errcode = 'invalid_parameter_value';
  end if;
  perform headwater_jobs.check_size('input', octet_length(start.input::text), 262144);
  if start.key is not null then
    perform headwater_jobs.check_size('key', octet_length(start.key), 200);
  end if;
  insert into headwater_jobs.runs (id, job, input, key, owner, due_at, created_at)
  values (gen_random_uuid(), start.job, start.input, start.key, coalesce(start.owner, caller), greatest(start.run_at, moment), moment)
  on conflict (job, key) where key is not null do nothing
  returning id into started;
  if started is null then
    select id into started from headwater_jobs.runs where job = start.job and key = start.key;
  else
    perform pg_notify('headwater_durable_jobs', '');
  end if;
  return started;
end $$;
