-- Keys below a prefix, folded at a delimiter: a folder is left by a seek in the index, what it holds is not read.
-- as: supabase_storage_admin

-- `start_after` may be a key or a folder that a page ended with; of `next_token` the whole folder is over.
create or replace function storage.list_objects_with_delimiter(
  _bucket_id text, prefix_param text, delimiter_param text, max_keys int default 100, start_after text default '',
  next_token text default '', sort_order text default 'asc'
) returns table (
  name text, id uuid, metadata jsonb, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz
)
language plpgsql stable as $$
#variable_conflict use_column
declare
  is_descending constant boolean := coalesce(pg_catalog.lower(sort_order) = 'desc', false);
  delimiter constant text := nullif(delimiter_param, '');
  prefix constant text := coalesce(prefix_param, '');
  wanted constant int := coalesce(max_keys, 100);
  low text collate "C" := prefix;
  high text collate "C" := storage.prefix_end(low);
  over text collate "C" := coalesce(nullif(next_token, ''), nullif(start_after, ''));
  given int := 0;
  folder text;
  found_rows refcursor;
  object record;
begin
  if over is not null then
    folder := case
      when pg_catalog.starts_with(over, prefix) then storage.get_common_prefix(over, prefix, delimiter)
    end;
    over := case when folder = over or next_token <> '' then coalesce(folder, over) else over end;
    if is_descending then
      high := least(high, over);
    else
      low := greatest(low, case when over = folder then storage.prefix_end(over) else over || pg_catalog.chr(1) end);
    end if;
  end if;
  while given < wanted loop
    if is_descending then
      open found_rows for select * from storage.objects
        where bucket_id = _bucket_id and name collate "C" >= low and name collate "C" < high
        order by name collate "C" desc;
    else
      open found_rows for select * from storage.objects
        where bucket_id = _bucket_id and name collate "C" >= low and name collate "C" < high
        order by name collate "C";
    end if;
    folder := null;
    while folder is null and given < wanted loop
      fetch found_rows into object;
      exit when not found;
      folder := storage.get_common_prefix(object.name, prefix, delimiter);
      if folder is null then
        name := object.name; id := object.id; metadata := object.metadata;
        updated_at := object.updated_at; created_at := object.created_at; last_accessed_at := object.last_accessed_at;
      else
        name := folder; id := null; metadata := null; updated_at := null; created_at := null; last_accessed_at := null;
      end if;
      return next;
      given := given + 1;
    end loop;
    close found_rows;
    exit when folder is null;
    if is_descending then
      high := folder;
    else
      low := storage.prefix_end(folder);
    end if;
  end loop;
end $$;

grant execute on function
  storage.list_objects_with_delimiter(text, text, text, int, text, text, text), storage.prefix_end(text) to public;
