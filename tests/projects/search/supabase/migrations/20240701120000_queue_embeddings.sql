create extension if not exists hstore with schema extensions;
create extension if not exists pg_net;

create schema util;

create or replace function util.invoke_embed() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  perform net.http_post(
    url := coalesce(current_setting('app.settings.functions_url', true), 'http://host.docker.internal:54321/functions/v1') || '/embed',
    headers := jsonb_build_object('Content-Type', 'application/json', 'Authorization', current_setting('request.headers', true)::json ->> 'authorization'),
    body := jsonb_build_object('id', new.id, 'table', tg_table_name),
    timeout_milliseconds := 3000
  );
  return new;
end;
$$;

create or replace function util.clear_column() returns trigger language plpgsql as $$
declare
  clear_column text := tg_argv[0];
begin
  new := new #= extensions.hstore(clear_column, null);
  return new;
end;
$$;
-- The operator #= is looked up by the search path of the caller.
alter function util.clear_column() set search_path = extensions, public;

create trigger clear_embedding before update of title, body on public.documents
  for each row when (old.body is distinct from new.body)
  execute function util.clear_column('embedding');
create trigger embed_on_insert after insert on public.documents
  for each row when (new.embedding is null) execute function util.invoke_embed();
