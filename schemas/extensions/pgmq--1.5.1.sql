-- pgmq 1.5 written in SQL and PL/pgSQL: queues of JSON messages with visibility timeouts and archives.
--
-- How it is built:
-- - A queue is a table `pgmq.q_<name>`, its archive `pgmq.a_<name>`, both listed in `pgmq.meta`. They belong to who calls
--   `create`, they are no members of the extension, and a dump holds them with their messages.
-- - Readers take rows with FOR UPDATE SKIP LOCKED and move their `vt` in the same statement: any number of consumers read at
--   once, nobody waits for anybody, and a message is handed out again only when its `vt` is over.
-- - Every function runs with the rights of its caller and a fixed search path. Names of queues are checked by
--   `validate_queue_name`, folded to lower case and quoted where they become part of a statement.
-- - Whoever makes or drops a queue holds an advisory lock on its name until the end of the transaction.
-- - `create_partitioned` needs pg_partman, which the embedded server has not, and says so.

\echo Use "CREATE EXTENSION pgmq" to load this file. \quit

-- Names are looked up in pg_catalog alone while this script runs: it runs as the superuser, and the schema that the extension
-- is made in may hold operators and functions that fit better.
set local search_path = pg_catalog, pg_temp;

-- What there is

create table pgmq.meta (
  queue_name varchar unique not null,
  is_partitioned boolean not null,
  is_unlogged boolean not null,
  created_at timestamptz not null default pg_catalog.now()
);

select pg_catalog.pg_extension_config_dump('pgmq.meta', '');

grant usage on schema pgmq to pg_monitor;
grant select on pgmq.meta to pg_monitor;
alter default privileges in schema pgmq grant select on tables to pg_monitor;
alter default privileges in schema pgmq grant select on sequences to pg_monitor;

create type pgmq.message_record as (
  msg_id bigint,
  read_ct integer,
  enqueued_at timestamptz,
  vt timestamptz,
  message jsonb,
  headers jsonb
);

create type pgmq.queue_record as (
  queue_name varchar,
  is_partitioned boolean,
  is_unlogged boolean,
  created_at timestamptz
);

create type pgmq.metrics_result as (
  queue_name text,
  queue_length bigint,
  newest_msg_age_sec integer,
  oldest_msg_age_sec integer,
  total_messages bigint,
  scrape_time timestamptz,
  queue_visible_length bigint
);


-- Names

create function pgmq.validate_queue_name(queue_name text) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if queue_name is null or length(queue_name) = 0 then
    raise exception 'queue name must not be empty' using errcode = 'invalid_parameter_value';
  elsif length(queue_name) > 47 then
    raise exception 'queue name is too long, maximum length is 47 characters' using errcode = 'invalid_parameter_value';
  elsif queue_name !~ '^[A-Za-z0-9_-]+$' then
    raise exception 'queue name contains invalid characters: use letters, digits, _ and - only'
      using errcode = 'invalid_parameter_value';
  end if;
end
$$;

-- The bare name of a queue's table ('q'), its archive ('a').
create function pgmq.format_table_name(queue_name text, prefix text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgmq.validate_queue_name(queue_name);
  return lower(prefix || '_' || queue_name);
end
$$;

create function pgmq.acquire_queue_lock(queue_name text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select pg_advisory_xact_lock(hashtext('pgmq.queue_' || lower(queue_name)));
$$;

create function pgmq.list_queues() returns setof pgmq.queue_record
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select queue_name, is_partitioned, is_unlogged, created_at from pgmq.meta;
$$;


-- Making and removing queues

create function pgmq.pgmq_make_queue(queue_name text, is_unlogged boolean) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  queue constant text := pgmq.format_table_name(queue_name, 'q');
  archive constant text := pgmq.format_table_name(queue_name, 'a');
  kind constant text := case when is_unlogged then 'unlogged' else '' end;
begin
  perform pgmq.acquire_queue_lock(queue_name);
  if to_regclass(format('pgmq.%I', queue)) is null then
    execute format(
      $q$
      create %s table pgmq.%I (
        msg_id bigint primary key generated always as identity,
        read_ct integer not null default 0,
        enqueued_at timestamptz not null default now(),
        vt timestamptz not null,
        message jsonb,
        headers jsonb
      )
      $q$, kind, queue);
    execute format('create index %I on pgmq.%I (vt asc)', queue || '_vt_idx', queue);
  end if;
  if to_regclass(format('pgmq.%I', archive)) is null then
    execute format(
      $q$
      create table pgmq.%I (
        msg_id bigint primary key,
        read_ct integer not null default 0,
        enqueued_at timestamptz not null default now(),
        archived_at timestamptz not null default now(),
        vt timestamptz not null,
        message jsonb,
        headers jsonb
      )
      $q$, archive);
    execute format('create index %I on pgmq.%I (archived_at)', 'archived_at_idx_' || substr(archive, 3), archive);
  end if;
  insert into pgmq.meta (queue_name, is_partitioned, is_unlogged)
  select pgmq_make_queue.queue_name, false, pgmq_make_queue.is_unlogged
  where not exists (select from pgmq.meta where lower(meta.queue_name) = lower(pgmq_make_queue.queue_name));
end
$$;

create function pgmq.create_non_partitioned(queue_name text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.pgmq_make_queue(queue_name, false);
$$;

create function pgmq.create_unlogged(queue_name text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.pgmq_make_queue(queue_name, true);
$$;

create function pgmq."create"(queue_name text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.pgmq_make_queue(queue_name, false);
$$;

create function pgmq.create_partitioned(
  queue_name text, partition_interval text default '10000', retention_interval text default '100000'
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgmq.validate_queue_name(queue_name);
  raise exception 'pg_partman is required for partitioned queues, and this edition of pgmq does not use it'
    using errcode = 'feature_not_supported',
      hint = 'Use pgmq.create(queue_name); drop old messages with pgmq.purge_queue, or delete from the archive on a schedule.';
end
$$;

create function pgmq.convert_archive_partitioned(
  table_name text, partition_interval text default '10000', retention_interval text default '100000',
  leading_partition integer default 10
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgmq.create_partitioned(table_name);
end
$$;

create function pgmq.drop_queue(queue_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  queue constant text := pgmq.format_table_name(queue_name, 'q');
  archive constant text := pgmq.format_table_name(queue_name, 'a');
begin
  perform pgmq.acquire_queue_lock(queue_name);
  if not exists (select from pgmq.meta where lower(meta.queue_name) = lower(drop_queue.queue_name)) then
    raise notice 'pgmq queue `%` does not exist', queue_name;
    return false;
  end if;
  execute format('drop table if exists pgmq.%I', queue);
  execute format('drop table if exists pgmq.%I', archive);
  delete from pgmq.meta where lower(meta.queue_name) = lower(drop_queue.queue_name);
  return true;
end
$$;

-- The old form; whether a queue is partitioned stands in the list of queues.
create function pgmq.drop_queue(queue_name text, partitioned boolean) returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.drop_queue(queue_name);
$$;

create function pgmq.purge_queue(queue_name text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  queue constant text := pgmq.format_table_name(queue_name, 'q');
  held bigint;
begin
  -- The lock comes before the count, so that nothing is sent between them.
  execute format('lock table pgmq.%I in access exclusive mode', queue);
  execute format('select count(*) from pgmq.%I', queue) into held;
  execute format('truncate table pgmq.%I', queue);
  return held;
end
$$;

-- Archives are no members of the extension here, so there is nothing to detach; the name is checked all the same.
create function pgmq.detach_archive(queue_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgmq.format_table_name(queue_name, 'a');
end
$$;


-- Sending

create function pgmq.send_batch(
  queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz
) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if headers is not null and cardinality(headers) <> coalesce(cardinality(msgs), 0) then
    raise exception 'headers array must have as many elements as msgs' using errcode = 'invalid_parameter_value';
  end if;
  return query execute format(
    $q$
    insert into pgmq.%I (vt, message, headers)
    select $2, message, headers from unnest($1, coalesce($3, array[]::jsonb[])) with ordinality as sent (message, headers, place)
    order by place
    returning msg_id
    $q$, pgmq.format_table_name(queue_name, 'q'))
  using msgs, delay, headers;
end
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[]) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send_batch(queue_name, msgs, null::jsonb[], clock_timestamp());
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[]) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send_batch(queue_name, msgs, headers, clock_timestamp());
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], delay integer) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send_batch(queue_name, msgs, null::jsonb[], clock_timestamp() + make_interval(secs => delay));
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], delay timestamptz) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send_batch(queue_name, msgs, null::jsonb[], delay);
$$;

create function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send_batch(queue_name, msgs, headers, clock_timestamp() + make_interval(secs => delay));
$$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    'insert into pgmq.%I (vt, message, headers) values ($2, $1, $3) returning msg_id',
    pgmq.format_table_name(queue_name, 'q'))
  using msg, delay, headers;
end
$$;

create function pgmq.send(queue_name text, msg jsonb) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send(queue_name, msg, null::jsonb, clock_timestamp());
$$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send(queue_name, msg, headers, clock_timestamp());
$$;

create function pgmq.send(queue_name text, msg jsonb, delay integer) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send(queue_name, msg, null::jsonb, clock_timestamp() + make_interval(secs => delay));
$$;

create function pgmq.send(queue_name text, msg jsonb, delay timestamptz) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send(queue_name, msg, null::jsonb, delay);
$$;

create function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay integer) returns setof bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  select * from pgmq.send(queue_name, msg, headers, clock_timestamp() + make_interval(secs => delay));
$$;


-- Receiving

create function pgmq.read(
  queue_name text, vt integer, qty integer default 1, conditional jsonb default '{}'
) returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    $q$
    with chosen as (
      select msg_id
      from pgmq.%1$I
      where vt <= clock_timestamp() and case when $3 <> '{}'::jsonb then message @> $3 else true end
      order by msg_id
      limit $1
      for update skip locked
    )
    update pgmq.%1$I as queue
    set vt = clock_timestamp() + make_interval(secs => $2), read_ct = read_ct + 1
    from chosen
    where queue.msg_id = chosen.msg_id
    returning queue.msg_id, queue.read_ct, queue.enqueued_at, queue.vt, queue.message, queue.headers
    $q$, pgmq.format_table_name(queue_name, 'q'))
  using qty, vt, coalesce(conditional, '{}');
end
$$;

create function pgmq.read_with_poll(
  queue_name text, vt integer, qty integer default 1, max_poll_seconds integer default 5,
  poll_interval_ms integer default 100, conditional jsonb default '{}'
) returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  until constant timestamptz := clock_timestamp() + make_interval(secs => max_poll_seconds);
begin
  loop
    return query select * from pgmq.read(queue_name, vt, qty, conditional);
    if found or clock_timestamp() >= until then
      return;
    end if;
    perform pg_sleep(
      least(greatest(poll_interval_ms, 1) / 1000.0, greatest(extract(epoch from until - clock_timestamp()), 0.001)));
  end loop;
end
$$;

create function pgmq.pop(queue_name text) returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    $q$
    with chosen as (
      select msg_id
      from pgmq.%1$I
      where vt <= clock_timestamp()
      order by msg_id
      limit 1
      for update skip locked
    )
    delete from pgmq.%1$I as queue
    using chosen
    where queue.msg_id = chosen.msg_id
    returning queue.msg_id, queue.read_ct, queue.enqueued_at, queue.vt, queue.message, queue.headers
    $q$, pgmq.format_table_name(queue_name, 'q'));
end
$$;

create function pgmq.set_vt(queue_name text, msg_id bigint, vt integer) returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    $q$
    update pgmq.%I
    set vt = clock_timestamp() + make_interval(secs => $2)
    where msg_id = $1
    returning msg_id, read_ct, enqueued_at, vt, message, headers
    $q$, pgmq.format_table_name(queue_name, 'q'))
  using msg_id, vt;
end
$$;


-- Finishing

create function pgmq.delete(queue_name text, msg_ids bigint[]) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    'delete from pgmq.%I where msg_id = any ($1) returning msg_id', pgmq.format_table_name(queue_name, 'q'))
  using msg_ids;
end
$$;

create function pgmq.delete(queue_name text, msg_id bigint) returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from pgmq.delete(queue_name, array[msg_id]));
$$;

create function pgmq.archive(queue_name text, msg_ids bigint[]) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    $q$
    with gone as (
      delete from pgmq.%I
      where msg_id = any ($1)
      returning msg_id, vt, read_ct, enqueued_at, message, headers
    )
    insert into pgmq.%I (msg_id, vt, read_ct, enqueued_at, message, headers)
    select msg_id, vt, read_ct, enqueued_at, message, headers from gone
    returning msg_id
    $q$, pgmq.format_table_name(queue_name, 'q'), pgmq.format_table_name(queue_name, 'a'))
  using msg_ids;
end
$$;

create function pgmq.archive(queue_name text, msg_id bigint) returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from pgmq.archive(queue_name, array[msg_id]));
$$;


-- Measuring

create function pgmq.metrics(queue_name text) returns pgmq.metrics_result
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  queue constant text := pgmq.format_table_name(queue_name, 'q');
  result pgmq.metrics_result;
begin
  execute format(
    $q$
    select
      $1, count(*),
      extract(epoch from now() - max(enqueued_at))::integer,
      extract(epoch from now() - min(enqueued_at))::integer,
      coalesce(pg_sequence_last_value(pg_get_serial_sequence(%L, 'msg_id')::regclass), 0),
      now(),
      count(*) filter (where vt <= clock_timestamp())
    from pgmq.%I
    $q$, format('pgmq.%I', queue), queue)
  into result using queue_name;
  return result;
end
$$;

create function pgmq.metrics_all() returns setof pgmq.metrics_result
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  queue record;
begin
  for queue in select queue_name from pgmq.meta loop
    return next pgmq.metrics(queue.queue_name);
  end loop;
end
$$;
