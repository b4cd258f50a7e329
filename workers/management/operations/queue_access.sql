-- Schema pgmq_public (queue_access.py), as role postgres: functions of queues for clients, which act with the caller's rights under row policies.

-- name: schema
create schema if not exists pgmq_public

-- name: send
create or replace function pgmq_public.send(queue_name text, message jsonb, sleep_seconds integer default 0) returns setof bigint
language sql set search_path = '' as $$ select * from pgmq.send($1, $2, $3) $$

-- name: send_batch
create or replace function pgmq_public.send_batch(queue_name text, messages jsonb[], sleep_seconds integer default 0) returns setof bigint
language sql set search_path = '' as $$ select * from pgmq.send_batch($1, $2, $3) $$

-- name: read
create or replace function pgmq_public.read(queue_name text, sleep_seconds integer, n integer) returns setof pgmq.message_record
language sql set search_path = '' as $$ select * from pgmq.read($1, $2, $3) $$

-- name: pop
create or replace function pgmq_public.pop(queue_name text) returns setof pgmq.message_record
language sql set search_path = '' as $$ select * from pgmq.pop($1) $$

-- name: archive
create or replace function pgmq_public.archive(queue_name text, message_id bigint) returns boolean
language sql set search_path = '' as $$ select pgmq.archive($1, $2) $$

-- name: delete
create or replace function pgmq_public.delete(queue_name text, message_id bigint) returns boolean
language sql set search_path = '' as $$ select pgmq.delete($1, $2) $$

-- name: grant_schemas
grant usage on schema pgmq_public, pgmq to anon, authenticated, service_role

-- name: grant_functions
grant execute on all functions in schema pgmq_public to anon, authenticated, service_role

-- name: queues
select pg_catalog.json_build_object('name', queue_name::text) from pgmq.meta order by queue_name
