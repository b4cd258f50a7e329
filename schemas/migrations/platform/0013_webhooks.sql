-- Database webhooks: `supabase_functions.http_request` as a row trigger sends a request for each change, through pg_net.
-- as: superuser

create table if not exists supabase_functions.migrations (
  version text primary key,
  inserted_at timestamptz not null default pg_catalog.now()
);

create table if not exists supabase_functions.hooks (
  id bigserial primary key,
  hook_table_id integer not null,
  hook_name text not null,
  created_at timestamptz not null default pg_catalog.now(),
  request_id bigint
);

create index if not exists supabase_functions_hooks_request_id_idx on supabase_functions.hooks (request_id);
create index if not exists supabase_functions_hooks_h_table_id_h_name_idx
  on supabase_functions.hooks (hook_table_id, hook_name);
create index if not exists supabase_functions_hooks_created_at_idx on supabase_functions.hooks (created_at);

comment on table supabase_functions.hooks is 'Which request each webhook has sent';

-- Arguments: url, method (GET or POST), headers, params (both JSON objects), timeout in milliseconds.
create or replace function supabase_functions.http_request() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  url constant text := tg_argv[0];
  method constant text := pg_catalog.upper(coalesce(tg_argv[1], ''));
  headers constant jsonb := coalesce(nullif(nullif(tg_argv[2], 'null'), '')::jsonb, '{"Content-Type": "application/json"}');
  params constant jsonb := coalesce(nullif(nullif(tg_argv[3], 'null'), '')::jsonb, '{}');
  timeout_ms constant integer := coalesce(nullif(nullif(tg_argv[4], 'null'), '')::integer, 1000);
  request_id bigint;
begin
  if url is null or url in ('', 'null') then
    raise exception 'url argument is missing';
  elsif method in ('', 'NULL') then
    raise exception 'method argument is missing';
  elsif method not in ('GET', 'POST') then
    raise exception 'method argument % is invalid', tg_argv[1];
  elsif pg_catalog.to_regclass('net.http_request_queue') is null then
    raise exception 'webhooks send through pg_net, which this database has not'
      using errcode = 'undefined_object', hint = 'create extension pg_net;';
  end if;
  if method = 'GET' then
    request_id := net.http_get(url, params, headers, timeout_ms);
  else
    request_id := net.http_post(
      url,
      pg_catalog.jsonb_build_object(
        'type', tg_op,
        'table', tg_table_name,
        'schema', tg_table_schema,
        'record', case when tg_op = 'DELETE' then null else pg_catalog.to_jsonb(new) end,
        'old_record', case when tg_op = 'INSERT' then null else pg_catalog.to_jsonb(old) end
      ),
      params, headers, timeout_ms);
  end if;
  insert into supabase_functions.hooks (hook_table_id, hook_name, request_id) values (tg_relid, tg_name, request_id);
  return coalesce(new, old);
end $$;

alter table supabase_functions.migrations owner to supabase_functions_admin;
alter table supabase_functions.hooks owner to supabase_functions_admin;
alter function supabase_functions.http_request() owner to supabase_functions_admin;
revoke all on function supabase_functions.http_request() from public;
grant all on all tables in schema supabase_functions to postgres with grant option;
grant all on all sequences in schema supabase_functions to postgres with grant option;
grant all on all functions in schema supabase_functions to postgres with grant option;
grant execute on function supabase_functions.http_request() to postgres, anon, authenticated, service_role;
grant usage on schema supabase_functions to headwater_scheduler;
grant select, delete on supabase_functions.hooks to headwater_scheduler;
