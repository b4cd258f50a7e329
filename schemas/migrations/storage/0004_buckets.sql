-- The buckets. Projects insert them by hand and write policies on them; what is not given has a default.
-- as: supabase_storage_admin

do $$
begin
  if pg_catalog.to_regtype('storage.buckettype') is null then
    create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');
  end if;
end $$;

create table if not exists storage.buckets (
  id text primary key,
  name text not null,
  owner uuid,
  created_at timestamptz default pg_catalog.now(),
  updated_at timestamptz default pg_catalog.now(),
  public boolean default false,
  avif_autodetection boolean default false,
  file_size_limit bigint,
  allowed_mime_types text[],
  owner_id text,
  type storage.buckettype not null default 'STANDARD',
  versioning_status text not null default 'DISABLED'
    constraint buckets_versioning_status_check check (versioning_status in ('DISABLED', 'ENABLED', 'SUSPENDED'))
    constraint buckets_versioning_not_yet check (versioning_status = 'DISABLED')
);

create unique index if not exists bname on storage.buckets (name);

comment on column storage.buckets.owner is 'Kept for older clients: owner_id is the owner';
comment on column storage.buckets.file_size_limit is 'In bytes; null: the limit of the whole service';
comment on column storage.buckets.allowed_mime_types is 'Null or empty: all';

alter table storage.buckets enable row level security;
grant select, insert, update, delete on storage.buckets to anon, authenticated, service_role;
