-- pg_cron written in SQL and PL/pgSQL: the jobs and their functions; the platform's scheduler runs them.
--
-- How it is built:
-- - A job is a row of `cron.job` and runs with the rights of its owner, `username`. Only the owner sees and changes it (row
--   security); a trigger that no setting can switch off allows a row only if `username` is who writes it, or the writer is
--   the superuser. So the functions need no rights but their caller's.
-- - Every change sends a notice on channel `headwater_cron`: the scheduler learns of it at the commit.
-- - Each run is a row of `cron.job_run_details`, written by the scheduler: starting, running, succeeded or failed.

\echo Use "CREATE EXTENSION pg_cron" to load this file. \quit

-- Names are looked up in pg_catalog alone while this script runs: it runs as the superuser, and the schema that the extension
-- is made in may hold operators and functions that fit better.
set local search_path = pg_catalog, pg_temp;

create schema cron;

-- Tell whether a text is a schedule: five fields, `1 seconds` to `59 seconds`, or a name such as `@daily`.
create function cron.headwater_is_schedule(schedule text) returns boolean
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  fields constant text[] := regexp_split_to_array(btrim(lower(schedule), E' \t'), '[ \t]+');
  lowest constant integer[] := array[0, 0, 1, 1, 0];
  highest constant integer[] := array[59, 23, 31, 12, 7];
  names constant text[] := array['', '', '', 'janfebmaraprmayjunjulaugsepoctnovdec', 'sunmontuewedthufrisat'];
  item text;
  part text[];
  ends integer[];
begin
  if btrim(lower(schedule), E' \t') ~ '^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$' then
    return true;
  elsif btrim(lower(schedule), E' \t') ~ '^([1-9]|[1-5][0-9])[ \t]+seconds?$' then
    return true;
  elsif cardinality(fields) <> 5 then
    return false;
  end if;
  for field in 1 .. 5 loop
    foreach item in array string_to_array(fields[field], ',') loop
      continue when field = 3 and item = '$';
      -- Groups: the first and last name or number, and the step.
      part := regexp_match(item, '^(?:\*|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?$');
      if part is null or part[3]::integer = 0 then
        return false;
      end if;
      ends := array[]::integer[];
      for place in 1 .. 2 loop
        continue when part[place] is null;
        if part[place] ~ '^[a-z]' then
          if names[field] = '' or (strpos(names[field], part[place]) - 1) % 3 <> 0 then
            return false;
          end if;
          ends := ends || ((strpos(names[field], part[place]) - 1) / 3 + lowest[field]);
        else
          ends := ends || part[place]::integer;
        end if;
      end loop;
      if ends[1] < lowest[field] or ends[1] > highest[field] or ends[2] > highest[field] or ends[2] < ends[1] then
        return false;
      end if;
    end loop;
  end loop;
  return true;
end
$$;

create sequence cron.jobid_seq;
create sequence cron.runid_seq;

create table cron.job (
  jobid bigint primary key default pg_catalog.nextval('cron.jobid_seq'),
  schedule text not null,
  command text not null,
  nodename text not null default 'localhost',
  nodeport integer not null default coalesce(pg_catalog.inet_server_port(), 5432),
  database text not null default pg_catalog.current_database(),
  username text not null default current_user,
  active boolean not null default true,
  jobname text,
  constraint jobname_username_uniq unique (jobname, username),
  constraint job_schedule_check check (cron.headwater_is_schedule(schedule))
);

create table cron.job_run_details (
  jobid bigint,
  runid bigint primary key default pg_catalog.nextval('cron.runid_seq'),
  job_pid integer,
  database text,
  username text,
  command text,
  status text,
  return_message text,
  start_time timestamptz,
  end_time timestamptz
);

create index job_run_details_jobid_idx on cron.job_run_details (jobid);
create index job_run_details_open_idx on cron.job_run_details (status) where status in ('starting', 'running');

select pg_catalog.pg_extension_config_dump('cron.job', '');
select pg_catalog.pg_extension_config_dump('cron.jobid_seq', '');
select pg_catalog.pg_extension_config_dump('cron.job_run_details', '');
select pg_catalog.pg_extension_config_dump('cron.runid_seq', '');


-- Whose jobs are whose

create function cron.headwater_guard_owner() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if (select rolsuper from pg_roles where rolname = current_user) then
    return coalesce(new, old);
  elsif tg_op <> 'INSERT' and old.username <> current_user then
    raise exception 'permission denied: job % belongs to another role', old.jobid
      using errcode = 'insufficient_privilege';
  elsif tg_op <> 'DELETE' and new.username <> current_user then
    raise exception 'must be superuser to create a job for another role' using errcode = 'insufficient_privilege';
  end if;
  return coalesce(new, old);
end
$$;

create trigger headwater_guard_owner before insert or update or delete on cron.job
  for each row execute function cron.headwater_guard_owner();
alter table cron.job enable always trigger headwater_guard_owner;

create function cron.job_cache_invalidate() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('headwater_cron', '');
  return null;
end
$$;

create trigger cron_job_cache_invalidate after insert or update or delete or truncate on cron.job
  for each statement execute function cron.job_cache_invalidate();
alter table cron.job enable always trigger cron_job_cache_invalidate;

alter table cron.job enable row level security;
alter table cron.job_run_details enable row level security;
create policy cron_job_policy on cron.job using (username = current_user);
create policy cron_job_run_details_policy on cron.job_run_details using (username = current_user);

grant select, delete on cron.job to public;
grant insert (schedule, command, nodename, nodeport, database, username, active, jobname) on cron.job to public;
grant update (schedule, command, nodename, nodeport, database, username, active, jobname) on cron.job to public;
grant usage on sequence cron.jobid_seq to public;
grant select, delete on cron.job_run_details to public;

do $$
begin
  if exists (select from pg_catalog.pg_roles where rolname = 'headwater_scheduler') then
    grant usage on schema cron to headwater_scheduler;
    grant usage on sequence cron.runid_seq to headwater_scheduler;
    grant select, insert, update, delete on cron.job_run_details to headwater_scheduler;
    create policy headwater_scheduler_policy on cron.job for select to headwater_scheduler using (true);
    create policy headwater_scheduler_policy on cron.job_run_details to headwater_scheduler using (true);
  end if;
end $$;


-- What projects call

create function cron.headwater_check(schedule text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not coalesce(cron.headwater_is_schedule(schedule), false) then
    raise exception 'invalid schedule: %', schedule
      using errcode = 'invalid_parameter_value',
        hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''.';
  end if;
end
$$;

create function cron.schedule_in_database(
  job_name text, schedule text, command text, database text, username text default null, active boolean default true
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  made bigint;
begin
  perform cron.headwater_check(schedule);
  if username is not null and not exists (select from pg_roles where rolname = schedule_in_database.username) then
    raise exception 'role "%" does not exist', username using errcode = 'undefined_object';
  end if;
  insert into cron.job as job (schedule, command, database, username, active, jobname)
  values (
    schedule_in_database.schedule, schedule_in_database.command, schedule_in_database.database,
    coalesce(schedule_in_database.username, current_user), schedule_in_database.active, job_name)
  on conflict on constraint jobname_username_uniq do update
  set schedule = excluded.schedule, command = excluded.command, database = excluded.database, active = excluded.active
  returning job.jobid into made;
  return made;
end
$$;

create function cron.schedule(job_name text, schedule text, command text) returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select cron.schedule_in_database(job_name, schedule, command, current_database());
$$;

create function cron.schedule(schedule text, command text) returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select cron.schedule_in_database(null, schedule, command, current_database());
$$;

create function cron.unschedule(job_id bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from cron.job where jobid = job_id;
  if not found then
    raise exception 'could not find valid entry for job %', job_id using errcode = 'undefined_object';
  end if;
  return true;
end
$$;

create function cron.unschedule(job_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from cron.job where jobname = job_name and username = current_user;
  if not found then
    raise exception 'could not find valid entry for job ''%''', job_name using errcode = 'undefined_object';
  end if;
  return true;
end
$$;

create function cron.alter_job(
  job_id bigint, schedule text default null, command text default null, database text default null,
  username text default null, active boolean default null
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if schedule is not null then
    perform cron.headwater_check(schedule);
  end if;
  update cron.job as job
  set
    schedule = coalesce(alter_job.schedule, job.schedule),
    command = coalesce(alter_job.command, job.command),
    database = coalesce(alter_job.database, job.database),
    username = coalesce(alter_job.username, job.username),
    active = coalesce(alter_job.active, job.active)
  where jobid = job_id;
  if not found then
    raise exception 'Job % does not exist or you don''t own it', job_id using errcode = 'undefined_object';
  end if;
end
$$;

select pg_catalog.pg_notify('headwater_cron', '');
