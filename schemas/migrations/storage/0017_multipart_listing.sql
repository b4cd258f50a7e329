-- Multipart uploads by key and time, folded at a delimiter.
-- as: supabase_storage_admin

-- A folder has no id. After `next_upload_token`, or after all uploads of `next_key_token`, or after that folder.
create or replace function storage.list_multipart_uploads_with_delimiter(
  bucket_id text, prefix_param text, delimiter_param text, max_keys int default 100, next_key_token text default '',
  next_upload_token text default ''
) returns table (key text, id text, created_at timestamptz)
language plpgsql stable as $$
#variable_conflict use_column
declare
  bucket constant text := bucket_id;
  prefix constant text := coalesce(prefix_param, '');
  last_key constant text := nullif(next_key_token, '');
  last_id constant text := nullif(next_upload_token, '');
  last_time timestamptz;
begin
  if last_id is not null then
    last_time := (select upload.created_at from storage.s3_multipart_uploads as upload where upload.id = last_id);
    last_time := coalesce(last_time, '-infinity');  -- it has ended since: rather tell the others of its key again
  end if;
  return query
    with uploads as (
      select upload.*, storage.get_common_prefix(upload.key, prefix, nullif(delimiter_param, '')) as folder
      from storage.s3_multipart_uploads as upload
      where upload.bucket_id = bucket
        and upload.key collate "C" >= greatest(prefix, last_key)
        and upload.key collate "C" < storage.prefix_end(prefix)
    ),
    entries as (
      select key, id, created_at from uploads where folder is null
      union all
      select distinct folder, null, null::timestamptz from uploads where folder is not null
    )
    select key, id, created_at from entries
    where last_key is null
      or key collate "C" > last_key
      or (key = last_key and (created_at, id) > (last_time, last_id))
    order by key collate "C", created_at, id
    limit greatest(coalesce(max_keys, 100), 0);
end $$;

grant execute on function
  storage.list_multipart_uploads_with_delimiter(text, text, text, int, text, text) to public;
