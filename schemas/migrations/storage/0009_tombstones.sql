-- Versions that no row names any more: written in the transaction that ends them, so that a rollback loses no blob.
-- as: supabase_storage_admin

create table if not exists storage.tombstones (
  id bigint generated always as identity primary key,
  bucket_id text,
  name text,
  version text not null,
  reason text not null
    constraint tombstones_reason_check check (reason in ('deleted', 'replaced', 'truncated')),
  created_at timestamptz not null default pg_catalog.now()
);

comment on table storage.tombstones is
  'Blobs to delete, each unless a row of objects has its bucket_id and version: rows may have been copied by hand';
comment on column storage.tombstones.reason is
  'What happened to the row; replaced: it has another version or bucket now';

alter table storage.tombstones enable row level security;

create or replace function storage.bury_deleted_objects() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into storage.tombstones (bucket_id, name, version, reason)
  select bucket_id, name, version, 'deleted' from gone where version is not null;
  return null;
end $$;

create or replace function storage.bury_replaced_version() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into storage.tombstones (bucket_id, name, version, reason)
  values (old.bucket_id, old.name, old.version, 'replaced');
  return null;
end $$;

create or replace function storage.bury_all_objects() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into storage.tombstones (bucket_id, name, version, reason)
  select bucket_id, name, version, 'truncated' from storage.objects where version is not null;
  return null;
end $$;

revoke all on function storage.bury_deleted_objects(), storage.bury_replaced_version(), storage.bury_all_objects()
  from public;

create or replace trigger bury_deleted_objects after delete on storage.objects
  referencing old table as gone for each statement execute function storage.bury_deleted_objects();
create or replace trigger bury_replaced_version after update on storage.objects
  for each row
  when (old.version is not null
    and (old.version is distinct from new.version or old.bucket_id is distinct from new.bucket_id))
  execute function storage.bury_replaced_version();
create or replace trigger bury_all_objects before truncate on storage.objects
  for each statement execute function storage.bury_all_objects();

-- Also where session_replication_role switches other triggers off.
alter table storage.objects enable always trigger bury_deleted_objects;
alter table storage.objects enable always trigger bury_replaced_version;
alter table storage.objects enable always trigger bury_all_objects;
