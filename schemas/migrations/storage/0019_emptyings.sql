-- Buckets that are being emptied: a row for each request, until all that was there then is gone, whoever goes on with it.
-- as: supabase_storage_admin

create table if not exists storage.emptyings (
  id bigint generated always as identity primary key,
  bucket_id text not null,
  before timestamptz not null,
  last_name text not null default '',
  request_id text not null default '',
  created_at timestamptz not null default pg_catalog.now()
);

comment on column storage.emptyings.before is 'What was made or changed later stays';
comment on column storage.emptyings.last_name is 'Objects up to this name, in byte order, are gone';

alter table storage.emptyings enable row level security;
revoke all on storage.emptyings from anon, authenticated;
grant select, insert, update, delete on storage.emptyings to service_role;
