-- Resumable uploads that are under way. They refer to no bucket: one that goes leaves them to expire.
-- as: supabase_storage_admin

create table if not exists storage.tus_uploads (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  bucket_id text not null,
  key text collate "C" not null,
  version text not null constraint tus_uploads_version_key unique,
  upload_length bigint constraint tus_uploads_upload_length_check check (upload_length >= 0),
  upload_offset bigint not null default 0,
  upload_metadata text,
  content_type text,
  cache_control text,
  user_metadata jsonb,
  owner uuid,
  owner_id text,
  upsert boolean not null default false,
  expires_at timestamptz not null,
  created_at timestamptz not null default pg_catalog.now(),
  constraint tus_uploads_upload_offset_check check (upload_offset >= 0 and upload_offset <= upload_length)
);

comment on column storage.tus_uploads.upload_length is 'Null while the client has not told it';
comment on column storage.tus_uploads.upload_offset is 'Bytes that are stored';
comment on column storage.tus_uploads.upload_metadata is 'The header as the client sent it, to be sent back';

create index if not exists tus_uploads_bucket_id_key_idx on storage.tus_uploads (bucket_id, key);
create index if not exists tus_uploads_expires_at_idx on storage.tus_uploads (expires_at);

alter table storage.tus_uploads enable row level security;
