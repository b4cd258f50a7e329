-- http 1.6 to 1.6.1: all functions are made again, with names looked up in pg_catalog alone.
--
-- The script of 1.6 looked names up in the extension's schema first where a function there fitted a call better, and its
-- parsed bodies stayed bound to what it found: in a schema of role postgres, to functions of role postgres, which `http()`
-- then ran as the superuser. The functions are those of http--1.6.sql, as a test makes sure. No new one may come in here
-- with `create or replace`: its name could be taken already by a function of the schema's owner.

\echo Use "ALTER EXTENSION http UPDATE TO '1.6.1'" to load this file. \quit

set local search_path = pg_catalog, pg_temp;

create or replace function @extschema@.http_header(field character varying, value character varying) returns @extschema@.http_header
language sql immutable parallel safe
return row(field, value)::@extschema@.http_header;

create or replace function @extschema@.bytea_to_text(data bytea) returns text
language internal immutable strict parallel safe
as 'byteasend';

create or replace function @extschema@.text_to_bytea(data text) returns bytea
language internal immutable strict parallel safe
as 'byteasend';

create or replace function @extschema@.urlencode(string bytea) returns text
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

create or replace function @extschema@.urlencode(string character varying) returns text
language sql immutable strict parallel safe
return @extschema@.urlencode(convert_to(string, 'UTF8'));

create or replace function @extschema@.urlencode(data jsonb) returns text
language sql immutable strict parallel safe
begin atomic
  select string_agg(@extschema@.urlencode(key::varchar) || '=' || @extschema@.urlencode(coalesce(value, '')::varchar), '&' order by place)
  from jsonb_each_text(data) with ordinality as pairs (key, value, place);
end;

create or replace function @extschema@.http_headwater_options(out curlopt text, out form text) returns setof record
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

create or replace function @extschema@.http_headwater_set(curlopt text, value text, form text) returns boolean
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

create or replace function @extschema@.http_set_curlopt(curlopt character varying, value character varying) returns boolean
language sql volatile
begin atomic
  select @extschema@.http_headwater_set(
    upper(http_set_curlopt.curlopt), http_set_curlopt.value::text,
    (select form from @extschema@.http_headwater_options() as known where known.curlopt = upper(http_set_curlopt.curlopt))
  );
end;

create or replace function @extschema@.http_headwater_option(curlopt text) returns text
language sql stable
return nullif(current_setting('http.' || lower(curlopt), true), '');

create or replace function @extschema@.http_list_curlopt(out curlopt text, out value text) returns setof record
language sql stable
begin atomic
  select known.curlopt, @extschema@.http_headwater_option(known.curlopt)
  from @extschema@.http_headwater_options() as known
  where @extschema@.http_headwater_option(known.curlopt) is not null
  order by 1;
end;

create or replace function @extschema@.http_reset_curlopt() returns boolean
language sql volatile
begin atomic
  select count(set_config('http.' || lower(curlopt), '', false)) >= 0
  from @extschema@.http_headwater_options()
  where @extschema@.http_headwater_option(curlopt) is not null;
end;

create or replace function @extschema@.http_headwater_number(value text) returns numeric
language sql immutable parallel safe
return case when value ~ '^[0-9]{1,9}$' then value::numeric end;

create or replace function @extschema@.http_headwater_timeout() returns integer
language sql stable
return least(greatest(coalesce(
  @extschema@.http_headwater_number(@extschema@.http_headwater_option('CURLOPT_TIMEOUT_MS')),
  @extschema@.http_headwater_number(@extschema@.http_headwater_option('CURLOPT_TIMEOUT')) * 1000,
  @extschema@.http_headwater_number(current_setting('http.timeout_msec', true)),
  5000
), 1), 600000)::integer;

create or replace function @extschema@.http_headwater_redirects() returns integer
language sql stable
return case
  when @extschema@.http_headwater_option('CURLOPT_FOLLOWLOCATION') = '0' then 0
  else least(coalesce(@extschema@.http_headwater_number(@extschema@.http_headwater_option('CURLOPT_MAXREDIRS')), 5), 20)::integer
end;

create or replace function @extschema@.http_headwater_link(connection text, statement text) returns setof record
language c volatile strict
as '$libdir/dblink', 'dblink_record';

create or replace function @extschema@.http_headwater_quoted(value text) returns text
language sql immutable strict parallel safe
return '''' || replace(replace(value, E'\\', E'\\\\'), '''', E'\\''') || '''';

create or replace function @extschema@.http_headwater_connection() returns text
language sql stable
begin atomic
  select format(
    'host=%s port=%s dbname=%s user=%s password=%s connect_timeout=5 application_name=http options=%s',
    @extschema@.http_headwater_quoted(coalesce(
      nullif(btrim(split_part(current_setting('unix_socket_directories'), ',', 1)), ''), '127.0.0.1')),
    current_setting('port'), @extschema@.http_headwater_quoted(current_database()::text), @extschema@.http_headwater_quoted(login.role::text),
    login.password,
    @extschema@.http_headwater_quoted(
      '-c search_path=pg_catalog -c statement_timeout=0 -c client_connection_check_interval=500 -c idle_session_timeout=0'
      ' -c client_encoding=' || getdatabaseencoding())
  )
  from @extschema@.http_headwater_login as login;
end;

create or replace function @extschema@.http_headwater_headers(request @extschema@.http_request) returns jsonb
language sql stable
begin atomic
  select coalesce(jsonb_agg(jsonb_build_array(given.field, given.value)), '[]')
  from (
    select header.field, header.value from unnest((request).headers) as header
    union all select 'Content-Type', (request).content_type where (request).content is not null
    union all select 'User-Agent', @extschema@.http_headwater_option('CURLOPT_USERAGENT')
    union all select 'Referer', @extschema@.http_headwater_option('CURLOPT_REFERER')
    union all select
      'Authorization',
      'Basic ' || translate(encode(convert_to(@extschema@.http_headwater_option('CURLOPT_USERPWD'), 'UTF8'), 'base64'), E'\n', '')
  ) as given
  where given.field is not null and given.value is not null;
end;

create or replace function @extschema@.http_headwater_check(request @extschema@.http_request) returns void
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

create or replace function @extschema@.http_headwater_raise(error text, is_timeout boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if error is null then
    return;
  elsif current_setting('headwater.failed_requests', true) = 'row' then
    raise warning '%', error;
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

create or replace function @extschema@.http(request @extschema@.http_request) returns @extschema@.http_response
language sql volatile security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select @extschema@.http_headwater_check(request);
  select row(answer.status, answer.content_type, answer.headers, answer.content)::@extschema@.http_response
  from (
    select
      @extschema@.http_headwater_raise(came.error, came.is_timeout),
      came.status,
      came.content_type::varchar as content_type,
      array(
        select row(pair ->> 0, pair ->> 1)::@extschema@.http_header
        from jsonb_array_elements(came.headers) with ordinality as pairs (pair, place)
        order by place
      ) as headers,
      @extschema@.bytea_to_text(came.body)::varchar as content
    from @extschema@.http_headwater_link(
      @extschema@.http_headwater_connection(),
      format(
        'begin; call headwater.http_send(%1$L, %2$L, %3$L, %4$L::jsonb, %5$L::bytea, %6$s, %7$s); commit; '
          'select * from headwater.http_wait(%1$L, %7$s)',
        gen_random_uuid(), upper((request).method), (request).uri, @extschema@.http_headwater_headers(request),
        @extschema@.text_to_bytea((request).content::text), @extschema@.http_headwater_redirects(),
        @extschema@.http_headwater_timeout())
    ) as came (
      status integer, content_type text, headers jsonb, body bytea, error text, is_timeout boolean
    )
    offset 0
  ) as answer;
end;

create or replace function @extschema@.http_get(uri character varying) returns @extschema@.http_response
language sql volatile
return @extschema@.http(row('GET', uri, null, null, null)::@extschema@.http_request);

create or replace function @extschema@.http_get(uri character varying, data jsonb) returns @extschema@.http_response
language sql volatile
return @extschema@.http(row(
  'GET', concat_ws(case when strpos(uri, '?') > 0 then '&' else '?' end, uri, @extschema@.urlencode(data)), null, null, null
)::@extschema@.http_request);

create or replace function @extschema@.http_post(uri character varying, content character varying, content_type character varying)
returns @extschema@.http_response
language sql volatile
return @extschema@.http(row('POST', uri, null, content_type, content)::@extschema@.http_request);

create or replace function @extschema@.http_post(uri character varying, data jsonb) returns @extschema@.http_response
language sql volatile
return @extschema@.http(row(
  'POST', uri, null, 'application/x-www-form-urlencoded', coalesce(@extschema@.urlencode(data), '')
)::@extschema@.http_request);

create or replace function @extschema@.http_put(uri character varying, content character varying, content_type character varying)
returns @extschema@.http_response
language sql volatile
return @extschema@.http(row('PUT', uri, null, content_type, content)::@extschema@.http_request);

create or replace function @extschema@.http_patch(uri character varying, content character varying, content_type character varying)
returns @extschema@.http_response
language sql volatile
return @extschema@.http(row('PATCH', uri, null, content_type, content)::@extschema@.http_request);

create or replace function @extschema@.http_delete(uri character varying) returns @extschema@.http_response
language sql volatile
return @extschema@.http(row('DELETE', uri, null, null, null)::@extschema@.http_request);

create or replace function @extschema@.http_delete(uri character varying, content character varying, content_type character varying)
returns @extschema@.http_response
language sql volatile
return @extschema@.http(row('DELETE', uri, null, content_type, content)::@extschema@.http_request);

create or replace function @extschema@.http_head(uri character varying) returns @extschema@.http_response
language sql volatile
return @extschema@.http(row('HEAD', uri, null, null, null)::@extschema@.http_request);

-- Rights: the steps belong to the owner, whatever default privileges of the schema gave away. What works on the caller's own
-- settings runs with the caller's rights.
do $$
declare
  given record;
begin
  for given in
    select distinct 'function ' || step.name as what, access.grantee
    from (values
      ('@extschema@.http_headwater_link(text, text)'), ('@extschema@.http_headwater_connection()'),
      ('@extschema@.http_headwater_raise(text, boolean)'),
      ('@extschema@.http_headwater_check(@extschema@.http_request)'),
      ('@extschema@.http_headwater_headers(@extschema@.http_request)')
    ) as step (name)
    join pg_proc as made on made.oid = step.name::regprocedure,
    aclexplode(coalesce(made.proacl, acldefault('f', made.proowner))) as access
    where access.grantee <> made.proowner
    union all
    select distinct 'table @extschema@.http_headwater_login', access.grantee
    from pg_class as made, aclexplode(made.relacl) as access
    where made.oid = '@extschema@.http_headwater_login'::regclass and access.grantee <> made.relowner
  loop
    execute format(
      'revoke all on %s from %s', given.what,
      case when given.grantee = 0 then 'public' else given.grantee::regrole::text end);
  end loop;
end
$$;

-- By now parsed bodies are bound. If one is bound to anything but the server's own and this extension's objects, because a
-- function in the target schema fitted a call better, nothing is made.
do $$
begin
  if exists (
    select from pg_depend as used
    join pg_depend as mine on mine.classid = used.classid and mine.objid = used.objid and mine.deptype = 'e'
    join pg_extension as made on made.oid = mine.refobjid and made.extname = 'http'
    where mine.refclassid = 'pg_extension'::regclass
      and used.classid = 'pg_proc'::regclass
      and used.refclassid not in ('pg_namespace'::regclass, 'pg_language'::regclass, 'pg_extension'::regclass)
      and not exists (
        select from pg_depend as other
        where other.classid = used.refclassid and other.objid = used.refobjid
          and other.deptype = 'e' and other.refclassid = 'pg_extension'::regclass and other.refobjid = made.oid
      )
      and not exists (
        select from pg_depend as inner_type
        join pg_depend as other on other.classid = inner_type.refclassid and other.objid = inner_type.refobjid
        where inner_type.classid = used.refclassid and inner_type.objid = used.refobjid and inner_type.deptype = 'i'
          and other.deptype = 'e' and other.refclassid = 'pg_extension'::regclass and other.refobjid = made.oid
      )
  ) then
    raise exception 'an object of the schema would take the place of one of the extension'
      using errcode = 'insufficient_privilege', hint = 'Create the extension in a schema without functions of its names.';
  end if;
end
$$;
