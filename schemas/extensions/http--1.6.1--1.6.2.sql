-- http 1.6.1 to 1.6.2: `http()` sends by `headwater.http_send` and waits by `headwater.http_wait`, which have a search path of
-- their own (schemas/migrations/platform/0025). The procedure that did both goes: nothing calls it any more.
--
-- The function is that of http--1.6.sql, as a test makes sure.

\echo Use "ALTER EXTENSION http UPDATE TO '1.6.2'" to load this file. \quit

set local search_path = pg_catalog, pg_temp;

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

drop procedure if exists headwater.http_exchange(text, text, jsonb, bytea, integer, integer);

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
