-- What happened to objects and buckets, to be told to who listens: written in the transaction in which it happened.
-- as: supabase_storage_admin

create table if not exists storage.events_outbox (
  id bigserial primary key,
  event text not null,
  payload jsonb not null,
  created_at timestamptz not null default pg_catalog.now()
);

comment on table storage.events_outbox is 'Whoever tells an event deletes its row';

alter table storage.events_outbox enable row level security;

-- The id of the request in which the row is written, if one is.
create or replace function storage.request_id() returns text
language sql stable as $$
  select nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'x-request-id'
$$;

-- How an object came to be: by a kind of upload or as a copy.
create or replace function storage.creation_event(is_new boolean) returns text
language sql stable as $$
  select case
    when storage.operation() ~ '^(storage\.)?(s3\.)?object\.copy$' then 'ObjectCreated:Copy'
    when is_new and coalesce(storage.operation() !~ '^(storage\.)?(s3\.|object\.upload_update$)', true)
    then 'ObjectCreated:Post'
    else 'ObjectCreated:Put'
  end
$$;

-- What an event about an object tells; the way of the upload is told of uploads only.
create or replace function storage.object_payload(object storage.objects, event text) returns jsonb
language sql stable as $$
  select pg_catalog.jsonb_build_object(
    'bucketId', object.bucket_id,
    'name', object.name,
    'version', object.version,
    'metadata', object.metadata,
    'uploadType', case
      when event not in ('ObjectCreated:Post', 'ObjectCreated:Put') or storage.operation() is null then null
      when storage.operation() ~ '^(storage\.)?tus\.' then 'resumable'
      when storage.operation() ~ '^(storage\.)?s3\.' then 's3'
      else 'standard'
    end,
    'reqId', storage.request_id()
  )
$$;

create or replace function storage.tell_new_objects() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  told constant text := storage.creation_event(true);
begin
  insert into storage.events_outbox (event, payload) select told, storage.object_payload(made, told) from made;
  return null;
end $$;

create or replace function storage.tell_changed_object() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  told text := 'ObjectUpdated:Metadata';
begin
  if (old.bucket_id, old.name) is distinct from (new.bucket_id, new.name) then
    told := 'ObjectCreated:Move';
    insert into storage.events_outbox (event, payload)
    values ('ObjectRemoved:Move', storage.object_payload(old, 'ObjectRemoved:Move'));
  elsif old.version is distinct from new.version then
    told := storage.creation_event(false);
  end if;
  insert into storage.events_outbox (event, payload) values (told, storage.object_payload(new, told));
  return null;
end $$;

create or replace function storage.tell_deleted_objects() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  told constant text := 'ObjectRemoved:Delete';
begin
  insert into storage.events_outbox (event, payload) select told, storage.object_payload(gone, told) from gone;
  return null;
end $$;

create or replace function storage.tell_bucket() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  bucket constant storage.buckets := coalesce(new, old);
begin
  insert into storage.events_outbox (event, payload)
  values (
    case tg_op when 'INSERT' then 'Bucket:Created' else 'Bucket:Deleted' end,
    pg_catalog.jsonb_build_object('bucketId', bucket.id, 'name', bucket.name, 'reqId', storage.request_id())
  );
  return null;
end $$;

revoke all on function storage.request_id(), storage.creation_event(boolean),
  storage.object_payload(storage.objects, text), storage.tell_new_objects(), storage.tell_changed_object(),
  storage.tell_deleted_objects(), storage.tell_bucket() from public;

create or replace trigger tell_new_objects after insert on storage.objects
  referencing new table as made for each statement execute function storage.tell_new_objects();
create or replace trigger tell_changed_object after update on storage.objects
  for each row
  when ((old.bucket_id, old.name, old.version, old.metadata, old.user_metadata)
    is distinct from (new.bucket_id, new.name, new.version, new.metadata, new.user_metadata))
  execute function storage.tell_changed_object();
create or replace trigger tell_deleted_objects after delete on storage.objects
  referencing old table as gone for each statement execute function storage.tell_deleted_objects();
create or replace trigger tell_bucket after insert or delete on storage.buckets
  for each row execute function storage.tell_bucket();
