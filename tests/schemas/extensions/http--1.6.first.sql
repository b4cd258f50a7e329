-- http 1.6 written in SQL and PL/pgSQL: a request is sent by the platform's scheduler while the session waits for the answer.
--
-- How it is built:
-- - The server itself sends nothing. `http()` opens a second session on its own server through the server's module dblink
--   and calls `headwater.http_exchange` there: that commits the request, so that the scheduler sees it, and waits for the
--   answer. So it works within any transaction, a read-only one too, and a rollback does not take a request back, as with
--   the original. The scheduler refuses private addresses (setting net.allow) as it does for pg_net.
-- - The second session is that of a login of its own, one a database, with a random password in a table that no dump
--   holds; it may exchange requests and nothing else. At most 32 of them at a time.
-- - Options (`http_set_curlopt`) are settings of the session, `http.curlopt_...`.
-- - The extension is relocatable: SQL functions have parsed bodies, which are bound by identity, and PL/pgSQL functions call
--   nothing of this extension. A hostile search path changes nothing.

\echo Use "CREATE EXTENSION http" to load this file. \quit

create domain http_method as text
  check (value ilike any (array['get', 'post', 'put', 'delete', 'patch', 'head', 'options']));

create type http_header as (field character varying, value character varying);

create type http_response as (status integer, content_type character varying, headers http_header[], content character varying);

create type http_request as (
  method http_method, uri character varying, headers http_header[], content_type character varying, content character varying
);

create function http_header(field character varying, value character varying) returns http_header
language sql immutable parallel safe
return row(field, value)::http_header;


-- Texts and bytes: the same bytes under another type, as the original has it.

create function bytea_to_text(data bytea) returns text
language internal immutable strict parallel safe
as 'byteasend';

create function text_to_bytea(data text) returns bytea
language internal immutable strict parallel safe
as 'byteasend';

create function urlencode(string bytea) returns text
language sql immutable strict parallel safe
begin atomic
  select coalesce(string_agg(
    case
      when octet between 48 and 57 or octet between 65 and 90 or octet between 97 and 122 or octet in (45, 46, 95)
      then chr(octet)
      when octet = 32 then '+'
      else '%' || upper(lpad(to_hex(octet), 2, '0'))
    end, '' order by place), '')
  from (
    select place, get_byte(string, place) as octet from generate_series(0, octet_length(string) - 1) as place
  ) as octets;
end;

create function urlencode(string character varying) returns text
language sql immutable strict parallel safe
return urlencode(convert_to(string, 'UTF8'));

create function urlencode(data jsonb) returns text
language sql immutable strict parallel safe
begin atomic
  select string_agg(urlencode(key::varchar) || '=' || urlencode(coalesce(value, '')::varchar), '&' order by place)
  from jsonb_each_text(data) with ordinality as pairs (key, value, place);
end;


-- Options

-- The options that are understood, and what their values look like. The last three say what is so anyway.
create function http_headwater_options(out curlopt text, out form text) returns setof record
language sql immutable parallel safe
begin atomic
  select * from (values
    ('CURLOPT_CONNECTTIMEOUT', '^[0-9]{1,6}$'),
    ('CURLOPT_CONNECTTIMEOUT_MS', '^[0-9]{1,9}$'),
    ('CURLOPT_FOLLOWLOCATION', '^[01]$'),
    ('CURLOPT_MAXREDIRS', '^[0-9]{1,2}$'),
    ('CURLOPT_REFERER', ''),
    ('CURLOPT_TIMEOUT', '^[0-9]{1,6}$'),
    ('CURLOPT_TIMEOUT_MS', '^[0-9]{1,9}$'),
    ('CURLOPT_USERAGENT', ''),
    ('CURLOPT_USERPWD', ':'),
    ('CURLOPT_SSL_VERIFYHOST', '^2$'),
    ('CURLOPT_SSL_VERIFYPEER', '^1$'),
    ('CURLOPT_TCP_KEEPALIVE', '^[01]$')
  ) as known (curlopt, form);
end;

create function http_headwater_set(curlopt text, value text, form text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if form is null then
    raise exception 'curl option % is not supported', curlopt
      using errcode = 'feature_not_supported',
        hint = 'The scheduler sends the request, not curl. Understood are timeouts, redirects, CURLOPT_USERAGENT, '
          'CURLOPT_REFERER and CURLOPT_USERPWD.';
  elsif value is null or value !~ form then
    raise exception 'curl option % cannot have that value', curlopt using errcode = 'invalid_parameter_value';
  end if;
  perform set_config('http.' || lower(curlopt), value, false);
  return true;
end
$$;

create function http_set_curlopt(curlopt character varying, value character varying) returns boolean
language sql volatile
begin atomic
  select http_headwater_set(
    upper(http_set_curlopt.curlopt), http_set_curlopt.value::text,
    (select form from http_headwater_options() as known where known.curlopt = upper(http_set_curlopt.curlopt))
  );
end;

create function http_headwater_option(curlopt text) returns text
language sql stable
return nullif(current_setting('http.' || lower(curlopt), true), '');

create function http_list_curlopt(out curlopt text, out value text) returns setof record
language sql stable
begin atomic
  select known.curlopt, http_headwater_option(known.curlopt)
  from http_headwater_options() as known
  where http_headwater_option(known.curlopt) is not null
  order by 1;
end;

create function http_reset_curlopt() returns boolean
language sql volatile
begin atomic
  select count(set_config('http.' || lower(curlopt), '', false)) >= 0
  from http_headwater_options()
  where http_headwater_option(curlopt) is not null;
end;

-- A whole number that a setting holds; whoever sets it past http_set_curlopt may have written anything.
create function http_headwater_number(value text) returns numeric
language sql immutable parallel safe
return case when value ~ '^[0-9]{1,9}$' then value::numeric end;

-- How long a request may take, in milliseconds: five seconds unless told, at least 1, at most ten minutes.
create function http_headwater_timeout() returns integer
language sql stable
return least(greatest(coalesce(
  http_headwater_number(http_headwater_option('CURLOPT_TIMEOUT_MS')),
  http_headwater_number(http_headwater_option('CURLOPT_TIMEOUT')) * 1000,
  http_headwater_number(current_setting('http.timeout_msec', true)),
  5000
), 1), 600000)::integer;

create function http_headwater_redirects() returns integer
language sql stable
return case
  when http_headwater_option('CURLOPT_FOLLOWLOCATION') = '0' then 0
  else least(coalesce(http_headwater_number(http_headwater_option('CURLOPT_MAXREDIRS')), 5), 20)::integer
end;


-- The second session

create function http_headwater_link(connection text, statement text) returns setof record
language c volatile strict
as '$libdir/dblink', 'dblink_record';

create table http_headwater_login (role name primary key, password text not null);

do $$
declare
  role constant text := 'headwater_http_' || (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database());
  password constant text := pg_catalog.encode(
    pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()) || pg_catalog.uuid_send(pg_catalog.gen_random_uuid())),
    'hex');
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'headwater_http') then
    raise exception 'extension http needs a server of this platform' using errcode = 'object_not_in_prerequisite_state';
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = role) then
    execute pg_catalog.format('create role %I', role);
  end if;
  execute pg_catalog.format(
    'alter role %I login inherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit 32 password %L',
    role, password);
  execute pg_catalog.format('grant headwater_http to %I', role);
  execute pg_catalog.format('grant connect on database %I to %I', pg_catalog.current_database(), role);
  insert into http_headwater_login (role, password) values (role, password);
end $$;

create function http_headwater_quoted(value text) returns text
language sql immutable strict parallel safe
return '''' || replace(replace(value, '\', '\\'), '''', '\''') || '''';

-- How this server reaches itself: its first Unix socket, else loopback.
create function http_headwater_connection() returns text
language sql stable
begin atomic
  select format(
    'host=%s port=%s dbname=%s user=%s password=%s connect_timeout=5 application_name=http options=%s',
    http_headwater_quoted(coalesce(
      nullif(btrim(split_part(current_setting('unix_socket_directories'), ',', 1)), ''), '127.0.0.1')),
    current_setting('port'), http_headwater_quoted(current_database()::text), http_headwater_quoted(login.role::text),
    login.password,
    http_headwater_quoted(
      '-c search_path=pg_catalog -c statement_timeout=0 -c client_connection_check_interval=500 -c idle_session_timeout=0'
      ' -c client_encoding=' || getdatabaseencoding())
  )
  from http_headwater_login as login;
end;


-- Requests

-- The headers that are sent, as pairs: those of the request, and what options ask for.
create function http_headwater_headers(request http_request) returns jsonb
language sql stable
begin atomic
  select coalesce(jsonb_agg(jsonb_build_array(given.field, given.value)), '[]')
  from (
    select header.field, header.value from unnest((request).headers) as header
    union all select 'Content-Type', (request).content_type where (request).content is not null
    union all select 'User-Agent', http_headwater_option('CURLOPT_USERAGENT')
    union all select 'Referer', http_headwater_option('CURLOPT_REFERER')
    union all select
      'Authorization',
      'Basic ' || translate(encode(convert_to(http_headwater_option('CURLOPT_USERPWD'), 'UTF8'), 'base64'), E'\n', '')
  ) as given
  where given.field is not null and given.value is not null;
end;

create function http_headwater_check(request http_request) returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if request.method is null then
    raise exception 'the method of a request must not be null' using errcode = 'null_value_not_allowed';
  elsif request.uri is null then
    raise exception 'the uri of a request must not be null' using errcode = 'null_value_not_allowed';
  elsif request.content is not null and request.content_type is null then
    raise exception 'a request with content needs a content_type' using errcode = 'null_value_not_allowed';
  end if;
end
$$;

-- Why there is no answer, as an error; nothing if there is one.
create function http_headwater_raise(error text, is_timeout boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if error is null then
    return;
  elsif error like 'nobody took%' then
    raise exception '%', error
      using errcode = 'connection_failure',
        hint = 'Requests are sent by the pool "scheduler": see that it runs, and that scheduler.enabled is on.';
  elsif is_timeout then
    raise exception '%', error
      using errcode = 'connection_failure',
        hint = 'More time: select http_set_curlopt(''CURLOPT_TIMEOUT_MS'', ''20000'').';
  elsif error = 'the host is at a private address' then
    raise exception '%', error
      using errcode = 'connection_failure', hint = 'The operator may allow it: setting net.allow.';
  end if;
  raise exception '%', error using errcode = 'connection_failure';
end
$$;

create function http(request http_request) returns http_response
language sql volatile security definer
begin atomic
  select http_headwater_check(request);
  select row(answer.status, answer.content_type, answer.headers, answer.content)::http_response
  from (
    select
      http_headwater_raise(came.error, came.is_timeout),
      came.status,
      came.content_type::varchar as content_type,
      array(
        select row(pair ->> 0, pair ->> 1)::http_header
        from jsonb_array_elements(came.headers) with ordinality as pairs (pair, place)
        order by place
      ) as headers,
      bytea_to_text(came.body)::varchar as content
    from http_headwater_link(
      http_headwater_connection(),
      format(
        'call headwater.http_exchange(%L, %L, %L::jsonb, %L::bytea, %s, %s, null, null, null, null, null, null)',
        upper((request).method), (request).uri, http_headwater_headers(request), text_to_bytea((request).content::text),
        http_headwater_redirects(), http_headwater_timeout())
    ) as came (
      status integer, content_type text, headers jsonb, body bytea, error text, is_timeout boolean
    )
    offset 0
  ) as answer;
end;

create function http_get(uri character varying) returns http_response
language sql volatile
return http(row('GET', uri, null, null, null)::http_request);

create function http_get(uri character varying, data jsonb) returns http_response
language sql volatile
return http(row(
  'GET', concat_ws(case when strpos(uri, '?') > 0 then '&' else '?' end, uri, urlencode(data)), null, null, null
)::http_request);

create function http_post(uri character varying, content character varying, content_type character varying)
returns http_response
language sql volatile
return http(row('POST', uri, null, content_type, content)::http_request);

create function http_post(uri character varying, data jsonb) returns http_response
language sql volatile
return http(row(
  'POST', uri, null, 'application/x-www-form-urlencoded', coalesce(urlencode(data), '')
)::http_request);

create function http_put(uri character varying, content character varying, content_type character varying)
returns http_response
language sql volatile
return http(row('PUT', uri, null, content_type, content)::http_request);

create function http_patch(uri character varying, content character varying, content_type character varying)
returns http_response
language sql volatile
return http(row('PATCH', uri, null, content_type, content)::http_request);

create function http_delete(uri character varying) returns http_response
language sql volatile
return http(row('DELETE', uri, null, null, null)::http_request);

create function http_delete(uri character varying, content character varying, content_type character varying)
returns http_response
language sql volatile
return http(row('DELETE', uri, null, content_type, content)::http_request);

create function http_head(uri character varying) returns http_response
language sql volatile
return http(row('HEAD', uri, null, null, null)::http_request);


-- Rights: the steps belong to the owner. What works on the caller's own settings runs with the caller's rights.

revoke all on table http_headwater_login from public;
revoke all on function
  http_headwater_link(text, text), http_headwater_connection(), http_headwater_raise(text, boolean),
  http_headwater_check(http_request), http_headwater_headers(http_request)
from public;
