-- Functions as consumers of queues (workers/scheduler/queues): what administrators want of each, how it goes, and logins of the queues' owners.
-- as: superuser

-- One row for each function that consumes a queue, written by the leader of the scheduler; `wanted` by administrators.
create table if not exists headwater.queue_consumers (
  function text primary key,
  queue text not null,
  dead_letter text not null default '',
  wanted text not null default 'run' check (wanted in ('run', 'drain', 'pause')),
  problem text not null default '',
  messages bigint,
  visible bigint,
  oldest_s float8,
  underway int not null default 0,
  done bigint not null default 0,
  failed bigint not null default 0,
  set_aside bigint not null default 0,
  done_per_s float8 not null default 0,
  failed_per_s float8 not null default 0,
  last_error text not null default '',
  last_error_at timestamptz,
  measured_at timestamptz
);
comment on table headwater.queue_consumers is 'Functions that consume queues of pgmq: what is wanted of them, and how they do';

-- The login of a queue's owner: whatever a trigger on the queue does, it has the rights of the owner and no others. As logins of jobs (0012).
create or replace function headwater.queue_login(queue text, verifier text, out owner text, out login text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  owned pg_roles;
begin
  if verifier !~ '^SCRAM-SHA-256\$' then
    raise exception 'a SCRAM verifier is wanted' using errcode = 'invalid_parameter_value';
  end if;
  select pg_roles.* into owned
  from pg_class
  join pg_namespace on pg_namespace.oid = relnamespace
  join pg_roles on pg_roles.oid = relowner
  where nspname = 'pgmq' and relname = lower('q_' || queue) and relkind in ('r', 'p');
  if owned.oid is null then
    raise exception 'there is no queue %', queue using errcode = 'undefined_table';
  elsif owned.rolsuper or owned.rolname ~ '^(pg|headwater|supabase)_' then
    raise exception 'queues of role "%" are not consumed: only those of ordinary roles are', owned.rolname
      using errcode = 'insufficient_privilege';
  end if;
  owner := owned.rolname;
  login := 'headwater_job_queue_' || (select oid from pg_database where datname = current_database()) || '_' || owned.oid;
  if not exists (select from pg_roles where rolname = login) then
    execute format('create role %I', login);
  end if;
  execute format(
    'alter role %I login noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit -1 password %L',
    login, verifier);
  execute format('alter role %I reset all', login);
  execute format('grant %I to %I', owner, login);
end $$;

-- Begin as the only consumer: sessions of the one before are ended, logins of owners that are gone are dropped.
create or replace function headwater.take_over_queues() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  prefix constant text := 'headwater_job_queue_' || (select oid from pg_database where datname = current_database()) || '_';
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

revoke all on headwater.queue_consumers from public;
revoke all on function headwater.queue_login(text, text), headwater.take_over_queues() from public;
grant select, insert, update, delete on headwater.queue_consumers to headwater_scheduler;
grant select on headwater.queue_consumers to headwater_management;
grant update (wanted) on headwater.queue_consumers to headwater_management;
grant execute on function headwater.queue_login(text, text), headwater.take_over_queues() to headwater_scheduler;
