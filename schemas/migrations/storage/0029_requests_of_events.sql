-- Several uploads are written by one statement (workers/storage/uploads/grouped_inserts.py): each event keeps the id of its own request.
-- as: supabase_storage_admin

-- The payload of an event about an object; the way of the upload is part of events about uploads only. `storage.request_ids` maps versions
-- to the ids of their requests, where one transaction serves several.
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
    'reqId', coalesce(
      nullif(pg_catalog.current_setting('storage.request_ids', true), '')::jsonb ->> object.version,
      storage.request_id()
    )
  )
$$;
