-- Multipart uploads of the S3 interface and their parts, until they are completed or aborted.
-- as: supabase_storage_admin

create table if not exists storage.s3_multipart_uploads (
  id text primary key,
  in_progress_size bigint not null default 0,
  upload_signature text not null,
  bucket_id text not null references storage.buckets,
  key text collate "C" not null,
  version text not null,
  owner_id text,
  created_at timestamptz not null default pg_catalog.now(),
  user_metadata jsonb,
  metadata jsonb
);

create table if not exists storage.s3_multipart_uploads_parts (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  upload_id text not null references storage.s3_multipart_uploads on delete cascade,
  size bigint not null default 0,
  part_number int not null,
  bucket_id text not null references storage.buckets,
  key text collate "C" not null,
  etag text not null,
  owner_id text,
  version text not null,
  created_at timestamptz not null default pg_catalog.now()
);

create index if not exists idx_multipart_uploads_list on storage.s3_multipart_uploads (bucket_id, key, created_at);
create index if not exists s3_multipart_uploads_parts_upload_id_idx
  on storage.s3_multipart_uploads_parts (upload_id, part_number);
create index if not exists s3_multipart_uploads_parts_bucket_id_idx on storage.s3_multipart_uploads_parts (bucket_id);

alter table storage.s3_multipart_uploads enable row level security;
alter table storage.s3_multipart_uploads_parts enable row level security;
grant select on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts to anon, authenticated;
grant select, insert, update, delete on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts
  to service_role;
