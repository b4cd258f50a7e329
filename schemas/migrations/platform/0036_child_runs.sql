-- Runs of durable jobs that other runs wait for (docs/queues-and-jobs.md): a step of kind `run` is over when its child run has ended.
-- as: superuser

-- Theory. A step `run` creates the child in the transaction that stores the step. Nothing that happens to a run locks another run of its
-- family, so that no two can wait for each other: the leader of the scheduler alone, in `settle_children`, passes the outcome of a child
-- that has ended to its parent's step, and cancels children whose parent has ended. A row that is locked at that moment is looked at again.
alter table headwater_jobs.runs add column if not exists parent uuid;
alter table headwater_jobs.runs add column if not exists parent_step text;
alter table headwater_jobs.runs add column if not exists depth int not null default 0;
alter table headwater_jobs.runs add column if not exists is_unsettled boolean not null default false;
comment on column headwater_jobs.runs.parent is 'The run whose step parent_step waits for this one; is_unsettled until that step knows the outcome';
create index if not exists runs_unsettled on headwater_jobs.runs (parent) where is_unsettled;
alter table headwater_jobs.steps drop constraint if exists steps_kind_check;
alter table headwater_jobs.steps add constraint steps_kind_check check (kind in ('step', 'sleep', 'wait', 'run'));

-- A run of a family that ends is announced, however it ended: its parent may go on, and its children are cancelled.
create or replace function headwater_jobs.announce_end() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('headwater_durable_jobs', '');
  return null;
end $$;
drop trigger if exists announce_end on headwater_jobs.runs;
create trigger announce_end after update of ended_at on headwater_jobs.runs for each row
  when (old.ended_at is null and new.ended_at is not null) execute function headwater_jobs.announce_end();

-- Write the report {"op": "run", "name", "job", "data"}: start a child run, for which the step waits, a year at most.
create or replace function headwater_jobs.write_child(run uuid, attempt int, report jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  step constant text := report ->> 'name';
  held record;
  child uuid;
begin
  select * into held from headwater_jobs.runs
  where id = write_child.run and attempt = write_child.attempt and status = 'running' for update;
  if held.id is null then
    return 'gone';
  elsif step is null or octet_length(step) not between 1 and 200 then
    raise exception 'the name of a step has 1 to 200 bytes' using errcode = 'invalid_parameter_value';
  elsif exists (select from headwater_jobs.steps where steps.run = held.id and name = step) then
    return 'running';  -- the report is repeated
  elsif held.steps >= 1000 then
    raise exception 'a run has at most 1000 steps' using errcode = 'invalid_parameter_value', hint = 'Start another run for the rest.';
  elsif held.depth >= 8 then
    raise exception 'runs wait for runs at most 8 deep' using errcode = 'invalid_parameter_value', hint = 'Start the run without waiting for it.';
  end if;
  child := headwater_jobs.start(report ->> 'job', coalesce(report -> 'data', '{}'), null, null, held.owner);
  update headwater_jobs.runs
  set parent = held.id, parent_step = step, depth = held.depth + 1, is_unsettled = true
  where id = child;
  insert into headwater_jobs.steps (run, name, position, kind, status, due_at, began_at)
  values (held.id, step, held.steps + 1, 'run', 'open', clock_timestamp() + interval '366 days', clock_timestamp());
  update headwater_jobs.runs set steps = steps + 1, failures = 0 where id = held.id;
  return 'running';
end $$;

-- Pass the outcome of children that have ended to the steps that wait for them, and cancel children whose parent has ended; true if some are left.
create or replace function headwater_jobs.settle_children(most int) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  child record;
  waiting record;
  size int;
begin
  for child in
    select runs.id, runs.status, runs.output, runs.error, runs.parent, runs.parent_step, runs.due_at
    from headwater_jobs.runs left join headwater_jobs.runs as parent on parent.id = runs.parent
    where runs.is_unsettled and (runs.due_at is null or parent.due_at is null)
    limit most for update of runs skip locked
  loop
    if child.due_at is not null then
      update headwater_jobs.runs
      set status = 'cancelled', error = 'the run that waits for it has ended', due_at = null, ended_at = clock_timestamp(),
        attempt = attempt + 1, is_unsettled = false
      where id = child.id;
      continue;
    end if;
    select * into waiting from headwater_jobs.runs where id = child.parent for update skip locked;
    if waiting.id is null and exists (select from headwater_jobs.runs where id = child.parent) then
      continue;  -- it is locked: the next look finds it
    end if;
    size := coalesce(octet_length(child.output::text), 0);
    if child.status = 'done' and waiting.bytes + size > 16777216 then
      child.status := 'failed';
      child.error := 'its output is too long: the results of a run have at most 16 MiB';
    end if;
    update headwater_jobs.steps
    set status = case when child.status = 'done' then 'done' else 'failed' end, is_unread = true, ended_at = clock_timestamp(), due_at = null,
      result = case when child.status = 'done' then child.output end,
      error = case child.status when 'done' then null when 'cancelled' then 'the run was cancelled' else child.error end
    where steps.run = child.parent and name = child.parent_step and kind = 'run' and status = 'open';
    if found then
      update headwater_jobs.runs set bytes = bytes + case when child.status = 'done' then size else 0 end where id = child.parent;
      update headwater_jobs.runs set status = 'queued', due_at = clock_timestamp() where id = child.parent and status = 'sleeping';
    end if;
    update headwater_jobs.runs set is_unsettled = false where id = child.id;
  end loop;
  return exists (
    select from headwater_jobs.runs left join headwater_jobs.runs as parent on parent.id = runs.parent
    where runs.is_unsettled and (runs.due_at is null or parent.due_at is null));
end $$;

-- As platform/0033, and the report `run`.
create or replace function headwater_jobs.write_reports(reports jsonb) returns text[]
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
declare
  written jsonb;
  meanings text[] := '{}';
begin
  for written in select * from jsonb_array_elements(reports) loop
    meanings := meanings || case when written #>> '{report,op}' = 'run'
      then headwater_jobs.write_child((written ->> 'run')::uuid, (written ->> 'attempt')::int, written -> 'report')
      else headwater_jobs.write_report((written ->> 'run')::uuid, (written ->> 'attempt')::int, written -> 'report')
    end;
  end loop;
  return meanings;
end $$;

-- As platform/0033, and the report `run`.
create or replace function headwater_jobs.report(run uuid, attempt int, report jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  meaning constant text := case when report ->> 'op' = 'run'
    then headwater_jobs.write_child(run, attempt, report) else headwater_jobs.write_report(run, attempt, report) end;
begin
  if meaning = 'gone' then
    raise exception 'attempt % does not have run % any more', attempt, run using errcode = 'object_not_in_prerequisite_state',
      hint = 'It was cancelled, or its lease ended and another runner took it. Stop working on it.';
  end if;
  return meaning;
end $$;

-- Start a run of a job whose end a step waits for. Its result is the run's output; the step fails if the run does, or is cancelled.
create or replace function headwater_jobs.wait_for_run(run uuid, attempt int, name text, job text, input jsonb default '{}') returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select headwater_jobs.report(run, attempt, jsonb_build_object('op', 'run', 'name', name, 'job', job, 'data', input))
$$;

revoke all on function headwater_jobs.announce_end(), headwater_jobs.write_child(uuid, int, jsonb), headwater_jobs.settle_children(int),
  headwater_jobs.wait_for_run(uuid, int, text, text, jsonb) from public;
grant execute on function headwater_jobs.settle_children(int) to headwater_scheduler;
grant execute on function headwater_jobs.wait_for_run(uuid, int, text, text, jsonb) to postgres, service_role;
