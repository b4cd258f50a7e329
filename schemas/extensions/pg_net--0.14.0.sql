-- pg_net written in SQL and PL/pgSQL: requests are rows of a queue, sent after the commit by the platform's scheduler.
--
-- How it is built:
-- - `net.http_get`, `http_post` and `http_delete` write a row and give its id; a rollback takes the row with it. A notice on
--   channel `headwater_net` wakes the sender at the commit. Whoever takes a row deletes it, commits, and sends it once.
-- - The answer, or why there is none, is a row of `net._http_response` for some hours.
-- - The three functions run with their owner's rights: who may call them may send, and read no answer of others. The tables
--   are open to role postgres and to the sender only.
-- - Both tables are unlogged, as with the original: a crash of the server empties them.

\echo Use "CREATE EXTENSION pg_net" to load this file. \quit

-- Names are looked up in pg_catalog alone while this script runs: it runs as the superuser, and the schema that the extension
-- is made in may hold operators and functions that fit better.
set local search_path = pg_catalog, pg_temp;

create schema net;

create domain net.http_method as text check (value ilike 'get' or value ilike 'post' or value ilike 'delete');

create type net.request_status as enum ('PENDING', 'SUCCESS', 'ERROR');

create type net.http_response as (status_code integer, headers jsonb, body text);

create type net.http_response_result as (status net.request_status, message text, response net.http_response);

create sequence net.http_request_queue_id_seq;

create unlogged table net.http_request_queue (
  id bigint not null default pg_catalog.nextval('net.http_request_queue_id_seq') primary key,
  method net.http_method not null,
  url text not null,
  headers jsonb,
  body bytea,
  timeout_milliseconds integer not null
);

alter sequence net.http_request_queue_id_seq owned by net.http_request_queue.id;

create unlogged table net._http_response (
  id bigint,
  status_code integer,
  content_type text,
  headers jsonb,
  content text,
  timed_out boolean,
  error_msg text,
  created timestamptz not null default pg_catalog.now()
);

create index _http_response_created_idx on net._http_response (created);
create index _http_response_id_idx on net._http_response (id);

create function net.headwater_notice() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('headwater_net', '');
  return null;
end
$$;

create trigger headwater_notice after insert on net.http_request_queue
  for each statement execute function net.headwater_notice();
alter table net.http_request_queue enable always trigger headwater_notice;


-- Addresses

create function net._urlencode_string(string character varying) returns text
language sql immutable strict
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(string_agg(
    case
      when octet between 48 and 57 or octet between 65 and 90 or octet between 97 and 122 or octet in (45, 46, 95, 126)
      then chr(octet)
      else '%' || upper(lpad(to_hex(octet), 2, '0'))
    end, '' order by place), '')
  from (
    select place, get_byte(convert_to(string, 'UTF8'), place) as octet
    from generate_series(0, octet_length(convert_to(string, 'UTF8')) - 1) as place
  ) as octets;
$$;

create function net._encode_url_with_params_array(url text, params_array text[]) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when coalesce(cardinality(params_array), 0) = 0 then url
    else url || case when strpos(url, '?') > 0 then '&' else '?' end || array_to_string(params_array, '&')
  end;
$$;

-- One `name=value` for each key.
create function net.headwater_url(url text, params jsonb) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select net._encode_url_with_params_array(url, array(
    select net._urlencode_string(key) || '=' || net._urlencode_string(coalesce(value, ''))
    from jsonb_each_text(coalesce(params, '{}'))
  ));
$$;

create function net.headwater_enqueue(
  method text, url text, params jsonb, headers jsonb, body jsonb, timeout_milliseconds integer
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  made bigint;
begin
  if url is null then
    raise exception 'the url of a request must not be null' using errcode = 'null_value_not_allowed';
  elsif coalesce(jsonb_typeof(headers), 'object') <> 'object' then
    raise exception 'the headers of a request must be a JSON object' using errcode = 'invalid_parameter_value';
  elsif coalesce(jsonb_typeof(params), 'object') <> 'object' then
    raise exception 'the params of a request must be a JSON object' using errcode = 'invalid_parameter_value';
  end if;
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values (
    headwater_enqueue.method, net.headwater_url(headwater_enqueue.url, params), headwater_enqueue.headers,
    convert_to(headwater_enqueue.body::text, 'UTF8'), coalesce(headwater_enqueue.timeout_milliseconds, 5000))
  returning id into made;
  return made;
end
$$;


-- Requests

create function net.http_get(
  url text, params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds integer default 5000
) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  select net.headwater_enqueue('GET', url, params, headers, null, timeout_milliseconds);
$$;

create function net.http_post(
  url text, body jsonb default '{}', params jsonb default '{}',
  headers jsonb default '{"Content-Type": "application/json"}', timeout_milliseconds integer default 5000
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  content_type text;
begin
  if jsonb_typeof(headers) = 'object' then
    select value into content_type from jsonb_each_text(headers) where lower(key) = 'content-type' limit 1;
  end if;
  if content_type is null then
    headers := coalesce(headers, '{}') || '{"Content-Type": "application/json"}';
  elsif lower(trim(split_part(content_type, ';', 1))) <> 'application/json' then
    raise exception 'Content-Type header must be "application/json"' using errcode = 'invalid_parameter_value';
  end if;
  return net.headwater_enqueue('POST', url, params, headers, body, timeout_milliseconds);
end
$$;

create function net.http_delete(
  url text, params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds integer default 5000,
  body jsonb default null
) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  select net.headwater_enqueue('DELETE', url, params, headers, body, timeout_milliseconds);
$$;


-- Answers

-- What is known of a request: PENDING while it waits or is underway, ERROR with the reason, SUCCESS with the answer.
create function net._http_collect_response(request_id bigint, async boolean default true)
returns net.http_response_result
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  answer net._http_response;
  deadline constant timestamptz := clock_timestamp() + interval '1 minute';
begin
  loop
    select * into answer from net._http_response where id = request_id limit 1;
    exit when found or async or clock_timestamp() > deadline;
    perform pg_sleep(0.05);
  end loop;
  if answer.id is null then
    if async and exists (select from net.http_request_queue where id = request_id) then
      return row('PENDING', 'request is pending processing', null)::net.http_response_result;
    end if;
    return row(
      'ERROR', format('request matching request_id=%s not found: it is unknown, or underway', request_id), null
    )::net.http_response_result;
  elsif answer.error_msg is not null then
    return row('ERROR', coalesce(answer.error_msg, 'request timed out'), null)::net.http_response_result;
  end if;
  return row(
    'SUCCESS', 'ok', row(answer.status_code, answer.headers, answer.content)::net.http_response
  )::net.http_response_result;
end
$$;

create function net.http_collect_response(request_id bigint, async boolean default true)
returns net.http_response_result
language sql
set search_path = pg_catalog, pg_temp
as $$
  select net._http_collect_response(request_id, async);
$$;

-- Wait for the answer of a request that an earlier transaction made; tell whether there is one.
create function net._await_response(request_id bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return (net._http_collect_response(request_id, false)).status <> 'PENDING'
    and exists (select from net._http_response where id = request_id);
end
$$;

-- Have the sender look at the queue again, at the commit.
create function net.worker_restart() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_notify('headwater_net', '');
  return true;
end
$$;


-- Rights

revoke all on all functions in schema net from public;
grant execute on function net._urlencode_string(character varying), net._encode_url_with_params_array(text, text[]) to public;

do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('postgres', 'usage on schema', 'net'),
      ('postgres', 'execute on all functions in schema', 'net'),
      ('postgres', 'select, insert, update, delete on all tables in schema', 'net'),
      ('postgres', 'usage, select on all sequences in schema', 'net'),
      ('headwater_scheduler', 'usage on schema', 'net'),
      ('headwater_scheduler', 'select, insert, delete, update on all tables in schema', 'net')
    ) as rights (role, what, place)
    where exists (select from pg_catalog.pg_roles where rolname = rights.role and not rolsuper)
  loop
    execute pg_catalog.format('grant %s %I to %I', wanted.what, wanted.place, wanted.role);
  end loop;
end $$;

select pg_catalog.pg_notify('headwater_net', '');
