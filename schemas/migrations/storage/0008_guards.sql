-- Rows go by the interface, which takes their blobs along; names of buckets end at 100 characters; changes are dated.
-- as: supabase_storage_admin

create or replace function storage.protect_delete() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if pg_catalog.current_setting('storage.allow_delete_query', true) is distinct from 'true' then
    raise insufficient_privilege using
      message = 'Direct deletion from storage tables is not allowed. Use the Storage API instead.',
      hint = 'A row that goes without its file leaves an orphaned object behind.';
  end if;
  return null;
end $$;

create or replace function storage.enforce_bucket_name_length() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if pg_catalog.length(new.name) > 100 then
    raise exception 'bucket name "%" is too long (% characters). Max is 100.', new.name, pg_catalog.length(new.name);
  end if;
  return new;
end $$;

create or replace function storage.update_updated_at_column() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.updated_at := pg_catalog.now();
  return new;
end $$;

create or replace trigger protect_buckets_delete before delete on storage.buckets
  for each statement execute function storage.protect_delete();
create or replace trigger protect_objects_delete before delete on storage.objects
  for each statement execute function storage.protect_delete();
create or replace trigger enforce_bucket_name_length_trigger before insert or update of name on storage.buckets
  for each row execute function storage.enforce_bucket_name_length();
create or replace trigger update_objects_updated_at before update on storage.objects
  for each row execute function storage.update_updated_at_column();
