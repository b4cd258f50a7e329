-- How much the buckets hold, and whether an object might be inserted.
-- as: supabase_storage_admin

create or replace function storage.get_size_by_bucket() returns table (size bigint, bucket_id text)
language sql stable as $$
  select
    coalesce(
      pg_catalog.sum((objects.metadata ->> 'size')::bigint)
        filter (where objects.metadata ->> 'size' ~ '^[0-9]{1,18}$'),
      0
    )::bigint,
    objects.bucket_id
  from storage.objects
  group by objects.bucket_id
$$;

-- Insert as the caller, then undo it: success is SQLSTATE PT200.
create or replace function storage.can_insert_object(bucketid text, name text, owner uuid, metadata jsonb) returns void
language plpgsql as $$
#variable_conflict use_variable
begin
  insert into storage.objects (bucket_id, name, owner, metadata) values (bucketid, name, owner, metadata);
  raise sqlstate 'PT200' using message = 'ROLLBACK', detail = 'rollback successful insert';
end $$;

grant execute on function storage.get_size_by_bucket(), storage.can_insert_object(text, text, uuid, jsonb) to public;
