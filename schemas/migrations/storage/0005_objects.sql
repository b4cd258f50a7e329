-- The objects: a row tells which version of its blob counts. Two functions make listings fast, under policies too.
-- as: superuser

-- Lower case that an index may use where policies hold: pg_catalog.lower itself is not marked as leaking nothing.
create or replace function storage.folded(text) returns text
language internal immutable strict leakproof parallel safe as 'lower';
alter function storage.folded(text) owner to supabase_storage_admin;

-- as: supabase_storage_admin

create table if not exists storage.objects (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  bucket_id text constraint "objects_bucketId_fkey" references storage.buckets,
  name text,
  owner uuid,
  created_at timestamptz default pg_catalog.now(),
  updated_at timestamptz default pg_catalog.now(),
  last_accessed_at timestamptz default pg_catalog.now(),
  metadata jsonb,
  path_tokens text[] generated always as (pg_catalog.string_to_array(name, '/')) stored,
  version text,
  owner_id text,
  user_metadata jsonb,
  archived_at timestamptz,
  is_delete_marker boolean not null default false,
  is_versioned boolean not null default false
);

create unique index if not exists bucketid_objname on storage.objects (bucket_id, name);
create index if not exists idx_objects_bucket_id_name on storage.objects (bucket_id, name collate "C");
create index if not exists idx_objects_bucket_id_name_lower
  on storage.objects (bucket_id, storage.folded(name) collate "C");
create index if not exists name_prefix_search on storage.objects (name text_pattern_ops);
create index if not exists objects_version_idx on storage.objects (version);

comment on column storage.objects.owner is 'Kept for older clients: owner_id is the owner';
comment on column storage.objects.version is 'Names the blob; null: a row written by hand, which has none';

alter table storage.objects enable row level security;
grant select, insert, update, delete on storage.objects to anon, authenticated, service_role;

-- The least text that sorts after all that begin with a prefix, in byte order of UTF-8.
create or replace function storage.prefix_end(prefix text) returns text
language plpgsql immutable strict parallel safe as $$
declare
  head text := prefix;
  last int;
begin
  while head <> '' loop
    last := pg_catalog.ascii(pg_catalog.right(head, 1));
    head := pg_catalog.left(head, -1);
    if last < 1114111 then
      return head || pg_catalog.chr(case last when 55295 then 57344 else last + 1 end);  -- no surrogates
    end if;
  end loop;
  return pg_catalog.repeat(pg_catalog.chr(1114111), 256);  -- no key of at most 1024 bytes is greater
end $$;
