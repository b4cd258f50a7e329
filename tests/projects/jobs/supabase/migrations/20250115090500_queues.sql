select pgmq.create('mail');
select from pgmq.create('thumbnails');
select pgmq.create_unlogged('metrics');

-- What the browser may do with queues, by functions of a schema that is exposed.
create schema if not exists pgmq_public;
grant usage on schema pgmq_public to anon, authenticated, service_role;

create or replace function pgmq_public.send(queue_name text, message jsonb, sleep_seconds integer default 0)
  returns setof bigint language plpgsql set search_path = '' as $$
begin
  return query select * from pgmq.send(queue_name := queue_name, msg := message, delay := sleep_seconds);
end;
$$;
comment on function pgmq_public.send(queue_name text, message jsonb, sleep_seconds integer) is 'Sends a message to the specified queue.';

create or replace function pgmq_public.read(queue_name text, sleep_seconds integer, n integer)
  returns setof pgmq.message_record language plpgsql set search_path = '' as $$
begin
  return query select * from pgmq.read(queue_name := queue_name, vt := sleep_seconds, qty := n);
end;
$$;

create or replace function pgmq_public.archive(queue_name text, message_id bigint) returns boolean language plpgsql set search_path = '' as $$
begin
  return pgmq.archive(queue_name := queue_name, msg_id := message_id);
end;
$$;

grant usage on schema pgmq to service_role;
grant all on all tables in schema pgmq to service_role;
grant all on all sequences in schema pgmq to service_role;
grant execute on all functions in schema pgmq_public to service_role;
alter default privileges in schema pgmq grant select, insert, update, delete on tables to service_role;
do $$
declare queue record;
begin
  for queue in select queue_name from pgmq.list_queues() loop
    execute format('alter table pgmq.%I enable row level security', 'q_' || queue.queue_name);
    execute format('alter table pgmq.%I enable row level security', 'a_' || queue.queue_name);
  end loop;
end $$;
