-- Extension http sends by a procedure and waits by a function: one that commits in between cannot have a search path of its own.
-- as: superuser

-- Extension http 1.6.2 sends both as one text over its link: `begin; call http_send; commit; select http_wait`. What was sent
-- is committed when the wait begins, so the scheduler sees it. Under READ COMMITTED each statement of a volatile function
-- sees what was committed before it, so the wait finds the answer without a commit of its own.

create or replace procedure headwater.http_send(
  request uuid, method text, url text, headers jsonb, body bytea, redirects integer, timeout_ms integer
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from headwater.http_answers where created < clock_timestamp() - interval '15 minutes';
  insert into headwater.http_queue (id, method, url, headers, body, redirects, deadline)
  values (
    http_send.request, http_send.method, http_send.url, http_send.headers, http_send.body, http_send.redirects,
    clock_timestamp() + timeout_ms * interval '1 millisecond');
  perform pg_notify('headwater_http', '');
end $$;

create or replace function headwater.http_wait(
  in request uuid, in timeout_ms integer,
  out status integer, out content_type text, out answer_headers jsonb, out answer_body bytea, out error text,
  out is_timeout boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  due constant timestamptz := clock_timestamp() + timeout_ms * interval '1 millisecond';
  patience constant interval := interval '2 seconds';
  pause_s double precision := 0.004;
begin
  loop
    delete from headwater.http_answers as answer where answer.id = request
    returning answer.status, answer.content_type, answer.headers, answer.body, answer.error, answer.is_timeout
    into status, content_type, answer_headers, answer_body, error, is_timeout;
    if found then
      return;
    elsif clock_timestamp() > due then
      delete from headwater.http_queue where id = request;
      if found then
        error := 'nobody took the request within ' || timeout_ms || ' ms: no scheduler runs';
        is_timeout := true;
        return;
      elsif clock_timestamp() > due + patience then
        error := 'the scheduler that took the request has gone';
        is_timeout := true;
        return;
      end if;
    end if;
    perform pg_sleep(pause_s);
    pause_s := least(pause_s * 1.3, 0.05);
  end loop;
end $$;

revoke all on procedure headwater.http_send(uuid, text, text, jsonb, bytea, integer, integer) from public;
revoke all on function headwater.http_wait(uuid, integer) from public;
grant execute on procedure headwater.http_send(uuid, text, text, jsonb, bytea, integer, integer) to headwater_http;
grant execute on function headwater.http_wait(uuid, integer) to headwater_http;

-- An installed extension calls the former procedure until it is updated; its update script drops it then.
do $$
begin
  if not exists (select from pg_catalog.pg_extension where extname operator(pg_catalog.=) 'http') then
    drop procedure if exists headwater.http_exchange(text, text, jsonb, bytea, integer, integer);
  end if;
end $$;
