-- The vault stands ready in schema vault, owned by postgres; requests of extension http wait here for the scheduler.
-- as: postgres

do $$
begin
  if exists (select from pg_catalog.pg_available_extensions where name = 'supabase_vault')
    and not exists (select from pg_catalog.pg_extension where extname = 'supabase_vault')
  then
    begin
      create extension supabase_vault with schema vault;
    exception when others then  -- on an outside server it may want more than we have; then whoever runs that makes it
      raise notice 'extension supabase_vault was not created: %', sqlerrm;
    end;
  end if;
end $$;

-- as: superuser

-- A request is committed by a session of its own (headwater.http_exchange), so that the scheduler sees it while the session
-- that asks still waits in its transaction. A row without an answer in time is taken back by who wrote it.
create unlogged table if not exists headwater.http_queue (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  method text not null,
  url text not null,
  headers jsonb not null,
  body bytea,
  redirects integer not null,
  deadline timestamptz not null
);

create unlogged table if not exists headwater.http_answers (
  id uuid primary key,
  status integer,
  content_type text,
  headers jsonb,
  body bytea,
  error text,
  is_timeout boolean not null default false,
  created timestamptz not null default pg_catalog.clock_timestamp()
);

comment on table headwater.http_queue is 'Requests of extension http that no scheduler has taken yet';
comment on table headwater.http_answers is 'Answers to requests of extension http that nobody has fetched yet';

-- Send a request and wait for its answer. It commits, so it is called as a statement of its own; so it has no fixed search
-- path either, and names everything in full. The caller needs its rights on the tables.
create or replace procedure headwater.http_exchange(
  in method text, in url text, in headers jsonb, in body bytea, in redirects integer, in timeout_ms integer,
  out status integer, out content_type text, out answer_headers jsonb, out answer_body bytea, out error text,
  out is_timeout boolean
)
language plpgsql as $$
declare
  request uuid;
  due constant timestamptz := pg_catalog.clock_timestamp() + timeout_ms * interval '1 millisecond';
  patience constant interval := interval '2 seconds';
  pause_s double precision := 0.004;
begin
  delete from headwater.http_answers where created < pg_catalog.clock_timestamp() - interval '15 minutes';
  insert into headwater.http_queue (method, url, headers, body, redirects, deadline)
  values (
    http_exchange.method, http_exchange.url, http_exchange.headers, http_exchange.body, http_exchange.redirects,
    due)
  returning id into request;
  perform pg_catalog.pg_notify('headwater_http', '');
  commit;
  loop
    delete from headwater.http_answers as answer where answer.id = request
    returning answer.status, answer.content_type, answer.headers, answer.body, answer.error, answer.is_timeout
    into status, content_type, answer_headers, answer_body, error, is_timeout;
    if found then
      commit;
      return;
    elsif pg_catalog.clock_timestamp() > due then
      delete from headwater.http_queue where id = request;
      if found then
        error := 'nobody took the request within ' || timeout_ms || ' ms: no scheduler runs';
        is_timeout := true;
        commit;
        return;
      elsif pg_catalog.clock_timestamp() > due + patience then
        error := 'the scheduler that took the request has gone';
        is_timeout := true;
        return;
      end if;
    end if;
    commit;
    perform pg_catalog.pg_sleep(pause_s);
    pause_s := least(pause_s * 1.3, 0.05);
  end loop;
end $$;

-- Who exchanges: logins that extension http makes, one a database. A dump makes extensions before it makes this schema, so
-- the rights are a role's, and the logins are members of it.
do $$
declare
  member name;
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'headwater_http') then
    create role headwater_http;
  end if;
  -- Whoever may create roles could have made one of this name before: then it is nobody's but ours from now on.
  alter role headwater_http nosuperuser nocreatedb nocreaterole noreplication nobypassrls nologin noinherit password null;
  for member in
    select member.rolname from pg_catalog.pg_auth_members as held
    join pg_catalog.pg_roles as member on member.oid = held.member
    where held.roleid = (select oid from pg_catalog.pg_roles where rolname = 'headwater_http')
      and not (pg_catalog.starts_with(member.rolname, 'headwater_http_') and not exists (
        select from pg_catalog.pg_auth_members as above where above.roleid = member.oid))
  loop
    execute pg_catalog.format('revoke headwater_http from %I cascade', member);
  end loop;
end $$;

revoke all on procedure headwater.http_exchange(text, text, jsonb, bytea, integer, integer) from public;
grant usage on schema headwater to headwater_http;
grant execute on procedure headwater.http_exchange(text, text, jsonb, bytea, integer, integer) to headwater_http;
grant select, insert, delete on headwater.http_queue to headwater_http;
grant select, delete on headwater.http_answers to headwater_http;
grant select, update, delete on headwater.http_queue to headwater_scheduler;
grant insert on headwater.http_answers to headwater_scheduler;
