-- Durable jobs (docs/queues-and-jobs.md): their runs, the finished steps of these, events, and who may do what. Schema headwater_jobs.
-- as: superuser

-- Whoever works on a run holds it under a lease: `attempt` counts who took it, `due_at` is the end of the lease. Everything that is
-- written about a run names the attempt, in one update that locks the row: a runner that was passed by writes nothing.
do $$
declare
  owned record;
begin
  select pg_roles.* into owned from pg_catalog.pg_namespace join pg_catalog.pg_roles on pg_roles.oid = nspowner where nspname = 'headwater_jobs';
  if owned.oid is not null and not owned.rolsuper then  -- its owner could replace what is created here
    raise exception 'schema headwater_jobs belongs to role "%": rename it, for the platform needs that name', owned.rolname;
  end if;
end $$;
create schema if not exists headwater_jobs;
comment on schema headwater_jobs is 'Durable jobs: start, look, cancel, run again, and what runners write';

create table if not exists headwater_jobs.jobs (
  name text primary key,
  is_function boolean not null,
  is_defined boolean not null default true,
  events text[] not null default '{}',
  retries int not null,
  backoff_s float8 not null,
  unfinished int8 not null default 0
);
comment on table headwater_jobs.jobs is 'What can be started: functions by their settings, and what headwater_jobs.define named for programs that take runs by SQL';

create table if not exists headwater_jobs.runs (
  id uuid primary key,
  job text not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'sleeping', 'done', 'failed', 'cancelled')),
  input jsonb not null,
  output jsonb,
  error text,
  key text,
  owner uuid,
  event uuid,
  rerun_of uuid,
  attempt int not null default 0,
  failures int not null default 0,
  steps int not null default 0,
  bytes int not null default 0,
  due_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  check ((due_at is null) = (ended_at is not null))
);
comment on table headwater_jobs.runs is 'Runs of durable jobs. due_at: when a runner may take it, null once it has ended';
create unique index if not exists runs_key on headwater_jobs.runs (job, key) where key is not null;
create index if not exists runs_due on headwater_jobs.runs (job, due_at) where due_at is not null;
create index if not exists runs_created on headwater_jobs.runs (created_at, id);
create index if not exists runs_of_owner on headwater_jobs.runs (owner, created_at) where owner is not null;
create index if not exists runs_ended on headwater_jobs.runs (ended_at) where ended_at is not null;

create table if not exists headwater_jobs.steps (
  run uuid not null references headwater_jobs.runs (id) on delete cascade,
  name text not null,
  position int not null,
  kind text not null check (kind in ('step', 'sleep', 'wait')),
  status text not null check (status in ('done', 'failed', 'retry', 'open')),
  result jsonb,
  error text,
  failures int not null default 0,
  due_at timestamptz,
  event text,
  match jsonb,
  event_id uuid,
  is_unread boolean not null default false,
  is_unmatched boolean not null default false,
  began_at timestamptz not null,
  ended_at timestamptz,
  primary key (run, name)
);
comment on table headwater_jobs.steps is 'Steps of runs: finished, failed, to be tried again (retry), or not yet over (open: a sleep, a wait for an event)';
create index if not exists steps_waiting on headwater_jobs.steps (event) where status = 'open' and kind = 'wait';
create index if not exists steps_unmatched on headwater_jobs.steps (run) where is_unmatched;

create table if not exists headwater_jobs.events (
  id uuid primary key,
  name text not null,
  data jsonb not null,
  key text unique,
  sent_at timestamptz not null,
  is_handled boolean not null default false
);
comment on table headwater_jobs.events is 'Events that were sent: they start runs, and end waits of runs';
create index if not exists events_unhandled on headwater_jobs.events (sent_at) where not is_handled;
create index if not exists events_named on headwater_jobs.events (name, sent_at);

-- The user of a request (`sub` of its claims), null for others, and for users of other issuers whose name is no UUID.
create or replace function headwater_jobs.user_id() returns uuid
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when claims ->> 'sub' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (claims ->> 'sub')::uuid end
  from (select nullif(current_setting('request.jwt.claims', true), '')::jsonb as claims) as request
$$;

alter table headwater_jobs.jobs enable row level security;
alter table headwater_jobs.runs enable row level security;
alter table headwater_jobs.steps enable row level security;
alter table headwater_jobs.events enable row level security;
drop policy if exists own_runs on headwater_jobs.runs;
create policy own_runs on headwater_jobs.runs for select to authenticated using (owner = (select headwater_jobs.user_id()));
drop policy if exists steps_of_own_runs on headwater_jobs.steps;
create policy steps_of_own_runs on headwater_jobs.steps for select to authenticated
  using (exists (select from headwater_jobs.runs where runs.id = steps.run and runs.owner = (select headwater_jobs.user_id())));

-- Refuse a text or a document that is empty or too long.
create or replace function headwater_jobs.check_size(what text, bytes int, most int) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if bytes is null or bytes < 1 then
    raise exception '% is missing', what using errcode = 'invalid_parameter_value';
  elsif bytes > most then
    raise exception '% has % bytes; at most % are stored', what, bytes, most
      using errcode = 'invalid_parameter_value', hint = 'Store it in a table or a bucket, and pass its key.';
  end if;
end $$;

-- Start a run of a job and return its id. With a key at most one run: the one of that job and key that there is, ended or not, is returned.
create or replace function headwater_jobs.start(
  job text, input jsonb default '{}', key text default null, run_at timestamptz default null, owner uuid default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  moment constant timestamptz := clock_timestamp();
  caller constant uuid := headwater_jobs.user_id();
  definition record;
  started uuid;
begin
  select * into definition from headwater_jobs.jobs where name = start.job and is_defined;
  if definition.name is null then
    raise exception 'there is no job %', left(start.job, 100) using errcode = 'undefined_object',
      hint = 'A function is a job by `[functions.NAME.job] enabled = true`; headwater_jobs.define names one for a program.';
  elsif current_setting('role') in ('authenticated', 'anon') and start.owner is distinct from caller and start.owner is not null then
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

-- Send an event and return its id; with a key, once for as long as the event is kept. It starts runs and ends waits after the commit.
create or replace function headwater_jobs.send_event(name text, data jsonb default '{}', key text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  sent uuid;
begin
  perform headwater_jobs.check_size('name', octet_length(send_event.name), 200);
  perform headwater_jobs.check_size('data', octet_length(send_event.data::text), 262144);
  if send_event.key is not null then
    perform headwater_jobs.check_size('key', octet_length(send_event.key), 200);
  end if;
  insert into headwater_jobs.events (id, name, data, key, sent_at)
  values (gen_random_uuid(), send_event.name, send_event.data, send_event.key, clock_timestamp())
  on conflict (key) do nothing
  returning id into sent;
  if sent is null then
    select id into sent from headwater_jobs.events where key = send_event.key;
  else
    perform pg_notify('headwater_durable_jobs', '');
  end if;
  return sent;
end $$;

-- End a run that has not ended; false if it has. What its runner does at this moment goes on, and its result is refused.
create or replace function headwater_jobs.cancel(run uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update headwater_jobs.runs
  set status = 'cancelled', due_at = null, ended_at = clock_timestamp(), attempt = attempt + 1
  where id = cancel.run and due_at is not null;
  if found then
    return true;
  elsif not exists (select from headwater_jobs.runs where id = cancel.run) then
    raise exception 'there is no run %', cancel.run using errcode = 'no_data_found';
  end if;
  return false;
end $$;

-- Start a run like one that has ended, and return its id. With a step: what was finished before that step is taken over, not done again.
create or replace function headwater_jobs.rerun(run uuid, from_step text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  moment constant timestamptz := clock_timestamp();
  old record;
  first int := 0;
  started constant uuid := gen_random_uuid();
begin
  select * into old from headwater_jobs.runs where id = rerun.run;
  if old.id is null then
    raise exception 'there is no run %', rerun.run using errcode = 'no_data_found';
  elsif old.due_at is not null then
    raise exception 'run % has not ended', rerun.run using errcode = 'object_not_in_prerequisite_state', hint = 'Cancel it first.';
  elsif not exists (select from headwater_jobs.jobs where name = old.job and is_defined) then
    raise exception 'there is no job %', old.job using errcode = 'undefined_object';
  end if;
  if from_step is not null then
    select position into first from headwater_jobs.steps where steps.run = rerun.run and name = from_step;
    if first is null then
      raise exception 'run % has no step %', rerun.run, left(from_step, 100) using errcode = 'invalid_parameter_value';
    end if;
  end if;
  insert into headwater_jobs.runs (id, job, input, owner, event, rerun_of, due_at, created_at)
  values (started, old.job, old.input, old.owner, old.event, old.id, moment, moment);
  insert into headwater_jobs.steps (run, name, position, kind, status, result, error, failures, event, match, event_id, began_at, ended_at)
  select started, name, position, kind, status, result, error, failures, event, match, event_id, began_at, ended_at
  from headwater_jobs.steps
  where steps.run = old.id and position < first and status in ('done', 'failed');
  update headwater_jobs.runs
  set steps = copied.count, bytes = copied.bytes
  from (
    select count(*)::int as count, coalesce(sum(octet_length(result::text)), 0)::int as bytes
    from headwater_jobs.steps where steps.run = started
  ) as copied
  where id = started;
  perform pg_notify('headwater_durable_jobs', '');
  return started;
end $$;

-- Name a job whose runs a program takes by SQL (headwater_jobs.take).
create or replace function headwater_jobs.define(
  job text, retries int default 4, backoff interval default '10 seconds', events text[] default '{}'
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if job !~ '^[A-Za-z0-9_-]{1,100}$' then
    raise exception 'the name of a job has 1 to 100 letters, digits, _ and -' using errcode = 'invalid_parameter_value';
  elsif retries not between 0 and 1000 or backoff not between interval '0' and interval '1 hour' or cardinality(events) > 20 then
    raise exception 'retries are at most 1000, backoff an hour, events 20' using errcode = 'invalid_parameter_value';
  elsif (select count(*) from headwater_jobs.jobs) >= 1000 then
    raise exception 'there are a thousand jobs' using errcode = 'configuration_limit_exceeded';
  end if;
  insert into headwater_jobs.jobs (name, is_function, events, retries, backoff_s)
  values (job, false, events, retries, extract(epoch from backoff))
  on conflict (name) do update
  set events = excluded.events, retries = excluded.retries, backoff_s = excluded.backoff_s, is_function = false, is_defined = true
  where not jobs.is_function or not jobs.is_defined;
  if not found then
    raise exception 'a function is the job % already', job using errcode = 'duplicate_object';
  end if;
end $$;

-- Take runs of a job that are due, under a lease. `steps`: by name what is known of each (kind, status, result, error, failures, is_due).
create or replace function headwater_jobs.take(job text, most int default 1, lease interval default '60 seconds')
returns table (id uuid, attempt int, input jsonb, key text, created_at timestamptz, steps jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  moment constant timestamptz := clock_timestamp();
begin
  if most not between 1 and 1000 or lease not between interval '1 second' and interval '12 hours' then
    raise exception 'most is 1 to 1000, lease 1 second to 12 hours' using errcode = 'invalid_parameter_value';
  end if;
  for id, attempt, input, key, created_at in
    update headwater_jobs.runs
    set status = 'running', attempt = runs.attempt + 1, due_at = moment + lease, started_at = coalesce(runs.started_at, moment)
    from (
      select locked.id, sum(locked.bytes) over places as total, row_number() over places as place
      from (
        select waiting.id, waiting.due_at, waiting.bytes from headwater_jobs.runs as waiting
        where waiting.job = take.job and waiting.due_at <= moment
        order by waiting.due_at limit take.most for update skip locked
      ) as locked
      window places as (order by locked.due_at, locked.id)
    ) as due
    where runs.id = due.id and (due.total <= 67108864 or due.place = 1)  -- their results are held in memory
    returning runs.id, runs.attempt, runs.input, runs.key, runs.created_at
  loop
    update headwater_jobs.steps
    set status = 'done', ended_at = moment
    where steps.run = take.id and steps.status = 'open' and steps.due_at <= moment;
    update headwater_jobs.steps set is_unread = false where steps.run = take.id and steps.is_unread;
    select coalesce(jsonb_object_agg(steps.name, jsonb_build_object(
      'kind', steps.kind, 'status', steps.status, 'result', steps.result, 'error', steps.error, 'failures', steps.failures,
      'is_due', steps.status = 'retry' and steps.due_at <= moment
    )), '{}')
    into steps
    from headwater_jobs.steps where steps.run = take.id;
    return next;
  end loop;
end $$;

-- Write one report of a runner about a run; return what it means for the run: 'running', 'queued', 'sleeping', 'done', 'failed', or 'gone'
-- if the runner has it no longer. `report`: {"op", "name", ...}, by its op as the functions below say.
create or replace function headwater_jobs.write_report(run uuid, attempt int, report jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  moment constant timestamptz := clock_timestamp();
  op constant text := report ->> 'op';
  step constant text := report ->> 'name';
  result jsonb := coalesce(report -> 'result', 'null');
  after_s constant float8 := case when report ->> 'after_s' is not null then least(greatest((report ->> 'after_s')::float8, 0), 366 * 86400) end;
  held record;
  definition record;
  known record;
  size int := 0;
  failed int;
  is_over boolean;
  next_at timestamptz;
begin
  select * into held from headwater_jobs.runs
  where id = write_report.run and attempt = write_report.attempt and status = 'running' for update;
  if held.id is null then
    return 'gone';
  end if;
  if op in ('step', 'retry', 'sleep', 'wait', 'send', 'start') then
    if step is null or octet_length(step) not between 1 and 200 then
      raise exception 'the name of a step has 1 to 200 bytes' using errcode = 'invalid_parameter_value';
    end if;
    select * into known from headwater_jobs.steps where steps.run = held.id and name = step;
    if known.status in ('done', 'failed') then
      return 'running';  -- it is finished: a report that is repeated changes nothing
    elsif known.name is null and held.steps >= 1000 then
      raise exception 'a run has at most 1000 steps' using errcode = 'invalid_parameter_value', hint = 'Start another run for the rest.';
    end if;
    if op = 'send' then
      result := to_jsonb(headwater_jobs.send_event(report ->> 'event', coalesce(report -> 'data', '{}'), report ->> 'key'));
    elsif op = 'start' then
      result := to_jsonb(headwater_jobs.start(report ->> 'job', coalesce(report -> 'data', '{}'), report ->> 'key', null, held.owner));
    end if;
    if op in ('step', 'send', 'start') then
      size := octet_length(result::text);
      perform headwater_jobs.check_size('the result of a step', size, 1048576);
      if held.bytes + size > 16777216 then
        raise exception 'the results of a run have at most 16 MiB' using errcode = 'invalid_parameter_value';
      end if;
    end if;
    update headwater_jobs.runs
    set steps = steps + (known.name is null)::int, bytes = bytes + size, failures = 0
    where id = held.id;
  end if;
  case op
  when 'step', 'send', 'start' then
    insert into headwater_jobs.steps (run, name, position, kind, status, result, began_at, ended_at)
    values (held.id, step, held.steps + 1, 'step', 'done', result, coalesce(to_timestamp((report ->> 'began_at')::float8), moment), moment)
    on conflict (run, name) do update set status = 'done', result = excluded.result, error = null, due_at = null, ended_at = moment;
    return 'running';
  when 'retry' then
    select * into definition from headwater_jobs.jobs where name = held.job;
    failed := coalesce(known.failures, 0) + 1;
    is_over := coalesce((report ->> 'is_final')::boolean, false) or failed > least(coalesce((report ->> 'retries')::int, definition.retries, 0), 1000);
    next_at := case when not is_over then moment + interval '1 second' * coalesce(
      after_s, headwater_jobs.pause_s(coalesce((report ->> 'backoff_s')::float8, definition.backoff_s, 10), failed)) end;
    insert into headwater_jobs.steps (run, name, position, kind, status, error, failures, due_at, is_unread, began_at, ended_at)
    values (
      held.id, step, held.steps + 1, 'step', case when is_over then 'failed' else 'retry' end, left(report ->> 'error', 4000), failed,
      next_at, is_over, moment, case when is_over then moment end)
    on conflict (run, name) do update
    set status = excluded.status, error = excluded.error, failures = failed, due_at = next_at, is_unread = is_over, ended_at = excluded.ended_at;
    return 'running';
  when 'sleep', 'wait' then
    if after_s is null then
      raise exception 'a % needs after_s, a year at most', op using errcode = 'invalid_parameter_value';
    elsif op = 'wait' then
      perform headwater_jobs.check_size('event', octet_length(report ->> 'event'), 200);
      perform headwater_jobs.check_size('match', octet_length(coalesce(report -> 'match', '{}')::text), 16384);
    end if;
    insert into headwater_jobs.steps (run, name, position, kind, status, due_at, event, match, is_unmatched, began_at)
    values (
      held.id, step, held.steps + 1, op, 'open', moment + interval '1 second' * after_s, report ->> 'event', coalesce(report -> 'match', '{}'),
      op = 'wait', moment)
    on conflict (run, name) do nothing;
    if op = 'wait' then
      perform pg_notify('headwater_durable_jobs', '');
    end if;
    return 'running';
  when 'extend' then
    update headwater_jobs.runs set due_at = moment + interval '1 second' * coalesce(after_s, 60) where id = held.id;
    return 'running';
  when 'suspend' then  -- until the next open step is over, or at once if one is over already or after_s says so
    select min(case when is_unread then moment else due_at end) into next_at
    from headwater_jobs.steps
    where steps.run = held.id and (is_unread or status in ('retry', 'open'));
    next_at := case when after_s is not null then moment + interval '1 second' * after_s else next_at end;
    if next_at is null then
      raise exception 'nothing would wake this run' using errcode = 'invalid_parameter_value';
    end if;
    update headwater_jobs.runs
    set status = case when next_at <= moment then 'queued' else 'sleeping' end, due_at = next_at
    where id = held.id;
    return case when next_at <= moment then 'queued' else 'sleeping' end;
  when 'return' then
    update headwater_jobs.runs set status = 'queued', due_at = moment + interval '1 second' * coalesce(after_s, 0) where id = held.id;
    return 'queued';
  when 'finish' then
    perform headwater_jobs.check_size('the output', octet_length(result::text), 1048576);
    update headwater_jobs.runs set status = 'done', output = result, error = null, due_at = null, ended_at = moment where id = held.id;
    return 'done';
  when 'fail' then
    select * into definition from headwater_jobs.jobs where name = held.job;
    failed := held.failures + 1;
    is_over := coalesce((report ->> 'is_final')::boolean, false) or failed > coalesce(definition.retries, 0);
    update headwater_jobs.runs
    set status = case when is_over then 'failed' else 'queued' end, failures = failed, error = left(report ->> 'error', 4000),
      due_at = case when not is_over
        then moment + interval '1 second' * coalesce(after_s, headwater_jobs.pause_s(coalesce(definition.backoff_s, 10), failed)) end,
      ended_at = case when is_over then moment end
    where id = held.id;
    return case when is_over then 'failed' else 'queued' end;
  else
    raise exception 'a report cannot be %', coalesce(left(op, 50), 'without op') using errcode = 'invalid_parameter_value';
  end case;
end $$;

-- The pause before a try: it doubles with each failure, up to an hour, and is up to a fifth longer.
create or replace function headwater_jobs.pause_s(backoff_s float8, failures int) returns float8
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select least(greatest(backoff_s, 0) * 2 ^ least(greatest(failures, 1) - 1, 20), 3600) * (1 + 0.2 * random())
$$;

-- What a program reports about a run that it took. Each raises 55000 if the run is no longer its own: it must stop then.
create or replace function headwater_jobs.report(run uuid, attempt int, report jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  meaning constant text := headwater_jobs.write_report(run, attempt, report);
begin
  if meaning = 'gone' then
    raise exception 'attempt % does not have run % any more', attempt, run using errcode = 'object_not_in_prerequisite_state',
      hint = 'It was cancelled, or its lease ended and another runner took it. Stop working on it.';
  end if;
  return meaning;
end $$;

-- Store the result of a finished step.
create or replace function headwater_jobs.step(run uuid, attempt int, name text, result jsonb default null) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'step', 'name', name, 'result', result))
$$;

-- Note that a step failed. It is to be tried again when the run is taken the next time, until it has failed `retries` + 1 times.
create or replace function headwater_jobs.retry(
  run uuid, attempt int, name text, error text, retries int default null, after interval default null, is_final boolean default false
) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'retry', 'name', name, 'error', error, 'retries', retries,
    'after_s', extract(epoch from after), 'is_final', is_final))
$$;

-- Let a step be over after a while. `suspend` gives the run back until then.
create or replace function headwater_jobs.sleep(run uuid, attempt int, name text, duration interval) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'sleep', 'name', name, 'after_s', extract(epoch from duration)))
$$;

-- Let a step be over when an event has come whose data contains `match`, or after `timeout`. Its result is the event, null after the timeout.
create or replace function headwater_jobs.wait_for_event(
  run uuid, attempt int, name text, event text, match jsonb default '{}', timeout interval default '7 days'
) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'wait', 'name', name, 'event', event, 'match', match,
    'after_s', extract(epoch from timeout)))
$$;

create or replace function headwater_jobs.extend(run uuid, attempt int, lease interval default '60 seconds') returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'extend', 'after_s', extract(epoch from lease)))
$$;

-- Give a run back until one of its sleeps, waits or retries is due. Returns its status.
create or replace function headwater_jobs.suspend(run uuid, attempt int) returns text
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, '{"op": "suspend"}')
$$;

create or replace function headwater_jobs.finish(run uuid, attempt int, output jsonb default null) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'finish', 'result', output))
$$;

-- Note that an attempt failed as a whole. The run is taken again later, or has failed if it did so too often or finally. Returns its status.
create or replace function headwater_jobs.fail(run uuid, attempt int, error text, is_final boolean default false) returns text
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'fail', 'error', error, 'is_final', is_final))
$$;

-- What follows is called by the leader of the scheduler alone (workers/scheduler/durable_jobs). A lock of the project's holds it up for a second.

-- Begin as the only runner of functions: what the leader before this one worked on is due, for its session, and so its reports, are gone.
create or replace function headwater_jobs.take_over() returns void
language sql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
  update headwater_jobs.runs set due_at = clock_timestamp()
  where due_at > clock_timestamp() and status = 'running' and job in (select name from headwater_jobs.jobs where is_function)
$$;

-- The functions that are jobs are these, each {"name", "events", "retries", "backoff_s"}.
create or replace function headwater_jobs.sync_functions(definitions jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
begin
  insert into headwater_jobs.jobs (name, is_function, events, retries, backoff_s)
  select name, true, events, retries, backoff_s
  from jsonb_to_recordset(definitions) as defined (name text, events text[], retries int, backoff_s float8)
  on conflict (name) do update
  set is_function = true, is_defined = true, events = excluded.events, retries = excluded.retries, backoff_s = excluded.backoff_s;
  update headwater_jobs.jobs set is_defined = false
  where is_function and is_defined and not exists (
    select from jsonb_array_elements(definitions) as defined where defined ->> 'name' = jobs.name);
  delete from headwater_jobs.jobs where not is_defined and not exists (select from headwater_jobs.runs where job = jobs.name);
end $$;

-- Take runs of functions: as many of each as there is room for.
create or replace function headwater_jobs.take_functions(names text[], rooms int[], lease interval)
returns table (job text, id uuid, attempt int, input jsonb, key text, created_at timestamptz, steps jsonb)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select wanted.name, taken.* from unnest(names, rooms) as wanted (name, room)
  cross join lateral headwater_jobs.take(wanted.name, wanted.room, lease) as taken
$$;

-- When the first run of these jobs is due, null if none waits.
create or replace function headwater_jobs.next_due(names text[]) returns timestamptz
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select min(first.due_at) from unnest(names) as wanted (name)
  cross join lateral (
    select due_at from headwater_jobs.runs where job = wanted.name and due_at is not null order by due_at limit 1
  ) as first
$$;

-- Write reports, each {"run", "attempt", "report"}, in one transaction; return what each means, as write_report.
create or replace function headwater_jobs.write_reports(reports jsonb) returns text[]
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
declare
  written jsonb;
  meanings text[] := '{}';
begin
  for written in select * from jsonb_array_elements(reports) loop
    meanings := meanings || headwater_jobs.write_report(
      (written ->> 'run')::uuid, (written ->> 'attempt')::int, written -> 'report');
  end loop;
  return meanings;
end $$;

-- Start the run of a schedule for a moment, once.
create or replace function headwater_jobs.start_scheduled(job text, moment timestamptz) returns uuid
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.start(job, jsonb_build_object('scheduled_at', moment), 'schedule:' || extract(epoch from moment)::text)
$$;

-- End the wait of a step by an event.
create or replace function headwater_jobs.end_wait(run uuid, step text, event uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update headwater_jobs.steps
  set status = 'done', event_id = sent.id, ended_at = clock_timestamp(), is_unread = true, is_unmatched = false,
    result = jsonb_build_object('id', sent.id, 'name', sent.name, 'data', sent.data, 'sent_at', sent.sent_at)
  from headwater_jobs.events as sent
  where sent.id = end_wait.event and steps.run = end_wait.run and steps.name = end_wait.step and steps.status = 'open';
  update headwater_jobs.runs set status = 'queued', due_at = clock_timestamp() where id = end_wait.run and status = 'sleeping';
end $$;

-- Compare waits with the events that are stored, and new events with waits and jobs; true if some are left. One session does it, one after
-- another: a wait and an event that were written at the same time are compared by whichever comes second. An event ends one wait of a run,
-- the first, if it was sent since the run was created and did not start it.
create or replace function headwater_jobs.match_events(most int) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  waiting record;
  event record;
  is_whole boolean;
begin
  for waiting in
    select steps.run, steps.name, steps.event, steps.match, runs.created_at, runs.event as started_by
    from headwater_jobs.steps join headwater_jobs.runs on runs.id = steps.run
    where steps.is_unmatched
    limit most for update of runs skip locked
  loop
    update headwater_jobs.steps set is_unmatched = false where run = waiting.run and name = waiting.name;
    select stored.* into event
    from headwater_jobs.events as stored
    where stored.name = waiting.event and stored.sent_at >= waiting.created_at and stored.data @> waiting.match
      and stored.id is distinct from waiting.started_by
      and not exists (select from headwater_jobs.steps as used where used.run = waiting.run and used.event_id = stored.id)
    order by stored.sent_at, stored.id
    limit 1;
    if event.id is not null then
      perform headwater_jobs.end_wait(waiting.run, waiting.name, event.id);
    end if;
  end loop;
  for event in select * from headwater_jobs.events where not is_handled order by sent_at limit most loop
    insert into headwater_jobs.runs (id, job, input, key, event, due_at, created_at)
    select gen_random_uuid(), jobs.name,
      jsonb_build_object('id', event.id, 'name', event.name, 'data', event.data, 'sent_at', event.sent_at),
      'event:' || event.id, event.id, clock_timestamp(), clock_timestamp()
    from headwater_jobs.jobs
    where jobs.is_defined and event.name = any(jobs.events)
    on conflict (job, key) where key is not null do nothing;
    is_whole := true;
    for waiting in
      select distinct on (steps.run) steps.run, steps.name
      from headwater_jobs.steps join headwater_jobs.runs on runs.id = steps.run
      where steps.kind = 'wait' and steps.status = 'open' and steps.event = event.name and event.data @> steps.match
        and event.sent_at >= runs.created_at and event.id is distinct from runs.event
        and not exists (select from headwater_jobs.steps as used where used.run = steps.run and used.event_id = event.id)
      order by steps.run, steps.position
    loop
      perform from headwater_jobs.runs where id = waiting.run for update skip locked;
      is_whole := is_whole and found;
      if found then
        perform headwater_jobs.end_wait(waiting.run, waiting.name, event.id);
      end if;
    end loop;
    update headwater_jobs.events set is_handled = is_whole where id = event.id;  -- else a locked run is looked at again
  end loop;
  return exists (select from headwater_jobs.events where not is_handled)
    or exists (select from headwater_jobs.steps where is_unmatched);
end $$;

-- Count runs that have not ended, a million and one for more.
create or replace function headwater_jobs.count_unfinished() returns void
language sql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
  update headwater_jobs.jobs set unfinished = counted.unfinished
  from headwater_jobs.jobs as named
  cross join lateral (
    select count(*) as unfinished
    from (select from headwater_jobs.runs where job = named.name and due_at is not null limit 1000001) as bounded
  ) as counted
  where jobs.name = named.name and jobs.unfinished <> counted.unfinished
$$;

-- Delete runs that ended, and events that were sent, longer ago than this; true if some are left.
create or replace function headwater_jobs.sweep(keep interval) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  runs_gone int;
  events_gone int;
begin
  delete from headwater_jobs.runs where id in (
    select id from headwater_jobs.runs where ended_at < clock_timestamp() - keep order by ended_at limit 1000 for update skip locked);
  get diagnostics runs_gone = row_count;
  delete from headwater_jobs.events where id in (
    select id from headwater_jobs.events where is_handled and sent_at < clock_timestamp() - keep limit 1000);
  get diagnostics events_gone = row_count;
  return runs_gone = 1000 or events_gone = 1000;
end $$;

-- Who may do what: role postgres and service_role everything, signed-in users see their own runs, anon nothing.
revoke all on schema headwater_jobs from public;
revoke all on all functions in schema headwater_jobs from public;
grant usage on schema headwater_jobs to postgres, service_role, authenticated, headwater_scheduler, headwater_management;
grant select on all tables in schema headwater_jobs to postgres with grant option;
grant select on all tables in schema headwater_jobs to service_role, headwater_management;
grant select on headwater_jobs.runs, headwater_jobs.steps to authenticated;
grant execute on function headwater_jobs.user_id() to postgres, service_role, authenticated;
do $$
declare
  called record;
begin
  for called in
    select pg_proc.oid::pg_catalog.regprocedure as signature, proname
    from pg_catalog.pg_proc
    where pronamespace = 'headwater_jobs'::pg_catalog.regnamespace
  loop
    if called.proname in ('start', 'send_event', 'cancel', 'rerun') then
      execute pg_catalog.format('grant execute on function %s to postgres with grant option', called.signature);
      execute pg_catalog.format('grant execute on function %s to service_role, headwater_management', called.signature);
    elsif called.proname in (
      'define', 'take', 'report', 'step', 'retry', 'sleep', 'wait_for_event', 'extend', 'suspend', 'finish', 'fail'
    ) then
      execute pg_catalog.format('grant execute on function %s to postgres, service_role', called.signature);
    elsif called.proname in (
      'take_over', 'sync_functions', 'take_functions', 'next_due', 'write_reports', 'start_scheduled', 'match_events', 'count_unfinished', 'sweep'
    ) then
      execute pg_catalog.format('grant execute on function %s to headwater_scheduler', called.signature);
    end if;
  end loop;
end $$;
drop policy if exists management on headwater_jobs.jobs;
create policy management on headwater_jobs.jobs for select to headwater_management using (true);
drop policy if exists management on headwater_jobs.runs;
create policy management on headwater_jobs.runs for select to headwater_management using (true);
drop policy if exists management on headwater_jobs.steps;
create policy management on headwater_jobs.steps for select to headwater_management using (true);
drop policy if exists management on headwater_jobs.events;
create policy management on headwater_jobs.events for select to headwater_management using (true);
