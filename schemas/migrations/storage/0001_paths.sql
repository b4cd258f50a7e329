-- Parts of an object's path, for policies: folders, file name, extension.
-- as: supabase_storage_admin

create or replace function storage.foldername(name text) returns text[]
language sql immutable as $$
  select (pg_catalog.string_to_array(name, '/'))[1 : pg_catalog.cardinality(pg_catalog.string_to_array(name, '/')) - 1]
$$;

create or replace function storage.filename(name text) returns text
language sql immutable as $$
  select (pg_catalog.string_to_array(name, '/'))[pg_catalog.cardinality(pg_catalog.string_to_array(name, '/'))]
$$;

create or replace function storage.extension(name text) returns text
language sql immutable as $$
  select pg_catalog.reverse(pg_catalog.split_part(pg_catalog.reverse(storage.filename(name)), '.', 1))
$$;

grant execute on function storage.foldername(text), storage.filename(text), storage.extension(text) to public;
