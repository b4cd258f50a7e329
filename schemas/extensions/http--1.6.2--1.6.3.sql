-- http 1.6.2 to 1.6.3: under the setting `headwater.failed_requests = 'row'` a request without an answer is a row of nulls and a
-- warning instead of an error.
--
-- The function is that of http--1.6.sql, as a test makes sure.

\echo Use "ALTER EXTENSION http UPDATE TO '1.6.3'" to load this file. \quit

set local search_path = pg_catalog, pg_temp;

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
