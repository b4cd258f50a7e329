-- A page of a folder: what lies before it is counted in the index alone, its objects come from one statement, not row by row.
-- as: supabase_storage_admin

-- With the name in it, the index tells all that passing over objects needs: rows of the table are not read. Writers of objects wait
-- while it is built, some seconds for a million objects.
create index if not exists idx_objects_bucket_id_name_folded
  on storage.objects (bucket_id, storage.folded(name) collate "C") include (name);
drop index if exists storage.idx_objects_bucket_id_name_lower;

-- What is right below a prefix, by name: `skipped` entries are passed over, then come `wanted` at most. Of a folder there is
-- nothing but the name.
--
-- All keys (names in lower case) from `low` to `high` begin with the prefix: one with a further slash is in a folder below it. Entries
-- are passed over in batches that grow until one holds a folder; one scan counts a batch and finds its last key and its first
-- folder. A folder is left by a seek, whatever it holds. A page without folders comes from one statement, any other row by row, for
-- the scan must stop at each folder. Generic plans: where it knows the limits the planner would plan every call.
create or replace function storage.children(
  bucket text, prefix text, search text, is_descending boolean, wanted bigint, skipped bigint default 0
) returns table (
  name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz, metadata jsonb
)
language plpgsql stable set enable_sort = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  start constant text := prefix || search;
  first_shown constant int := pg_catalog.cardinality(pg_catalog.string_to_array('.' || prefix, '/'));
  last_shown constant int := pg_catalog.cardinality(pg_catalog.string_to_array('.' || start, '/'));
  low text collate "C" := storage.folded(start);
  high text collate "C" := storage.prefix_end(low);
  in_folder constant text collate "C" := pg_catalog.regexp_replace(low, '([\\%_])', '\\\1', 'g') || '%/%';
  short constant bigint := 64;
  left_out bigint := skipped;
  batch bigint := short;
  size bigint;
  last_key text collate "C";
  folder_key text collate "C";
  is_folder boolean;
  given bigint := 0;
  found_rows refcursor;
  object record;
begin
  while left_out > 0 and wanted > 0 loop
    if batch = short then  -- this stops at the folder, however many entries follow it
      size := null;
      if is_descending then
        select place, key, key like in_folder into size, last_key, is_folder
        from (
          select key, pg_catalog.row_number() over () as place
          from (
            select storage.folded(name) collate "C" as key from storage.objects
            where bucket_id = bucket
              and storage.folded(name) collate "C" >= low
              and storage.folded(name) collate "C" < high
            order by storage.folded(name) collate "C" desc
            limit least(left_out, batch)
          ) as run
        ) as numbered
        where place = least(left_out, batch) or key like in_folder
        limit 1;
      else
        select place, key, key like in_folder into size, last_key, is_folder
        from (
          select key, pg_catalog.row_number() over () as place
          from (
            select storage.folded(name) collate "C" as key from storage.objects
            where bucket_id = bucket
              and storage.folded(name) collate "C" >= low
              and storage.folded(name) collate "C" < high
            order by storage.folded(name) collate "C"
            limit least(left_out, batch)
          ) as run
        ) as numbered
        where place = least(left_out, batch) or key like in_folder
        limit 1;
      end if;
      if size is null then
        return;  -- there are not so many
      end if;
      folder_key := case when is_folder then last_key end;
    else
      if is_descending then
        select pg_catalog.count(*), pg_catalog.min(key), pg_catalog.max(key) filter (where key like in_folder)
        into size, last_key, folder_key
        from (
          select storage.folded(name) collate "C" as key from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C" desc
          limit least(left_out, batch)
        ) as run;
      else
        select pg_catalog.count(*), pg_catalog.max(key), pg_catalog.min(key) filter (where key like in_folder)
        into size, last_key, folder_key
        from (
          select storage.folded(name) collate "C" as key from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C"
          limit least(left_out, batch)
        ) as run;
      end if;
      if folder_key is null and size < least(left_out, batch) then
        return;
      elsif folder_key is not null then
        size := (
          select pg_catalog.count(*) from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= case when is_descending then folder_key || pg_catalog.chr(1) else low end
            and storage.folded(name) collate "C" < case when is_descending then high else folder_key end
        ) + 1;
      end if;
    end if;

    if folder_key is not null then
      left_out := left_out - size;
      batch := short;
      last_key := pg_catalog.array_to_string((pg_catalog.string_to_array(folder_key, '/'))[1:last_shown], '/');
      if is_descending then
        high := last_key || '/';
      else
        low := last_key || '0';  -- what comes after the slash
      end if;
      continue;
    end if;
    if (
      select pg_catalog.count(*) = 1 from storage.objects
      where bucket_id = bucket
        and storage.folded(name) collate "C" >= last_key
        and storage.folded(name) collate "C" < last_key || pg_catalog.chr(1)
    ) then
      left_out := left_out - size;
      if is_descending then
        high := last_key;
      else
        low := last_key || pg_catalog.chr(1);
      end if;
    else  -- others have the last name in another case: the next batch begins with them
      size := (
        select pg_catalog.count(*) from storage.objects
        where bucket_id = bucket
          and storage.folded(name) collate "C" >= case when is_descending then last_key || pg_catalog.chr(1) else low end
          and storage.folded(name) collate "C" < case when is_descending then high else last_key end
      );
      exit when size = 0 and left_out <= batch;  -- all that is left has one name: the page begins behind it, by its offset
      left_out := left_out - size;
      if is_descending then
        high := last_key || pg_catalog.chr(1);
      else
        low := last_key;
      end if;
    end if;
    batch := batch * 8;
  end loop;

  -- Where policies apply, the page is read once, row by row: rows that they hide are costly to pass a second time.
  if not pg_catalog.row_security_active('storage.objects') then
    if is_descending then
      is_folder := exists (
        select from (
          select storage.folded(name) collate "C" as key from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C" desc
          limit wanted offset left_out
        ) as run
        where key like in_folder
      );
    else
      is_folder := exists (
        select from (
          select storage.folded(name) collate "C" as key from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C"
          limit wanted offset left_out
        ) as run
        where key like in_folder
      );
    end if;
    if not is_folder then
      if is_descending then
        return query
          select pg_catalog.array_to_string(path_tokens[first_shown:last_shown], '/'),
            id, updated_at, created_at, last_accessed_at, metadata
          from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C" desc
          limit wanted offset left_out;
      else
        return query
          select pg_catalog.array_to_string(path_tokens[first_shown:last_shown], '/'),
            id, updated_at, created_at, last_accessed_at, metadata
          from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C"
          limit wanted offset left_out;
      end if;
      return;
    end if;
  end if;

  while given < wanted loop
    if is_descending then
      open found_rows for select * from storage.objects
        where bucket_id = bucket
          and storage.folded(name) collate "C" >= low
          and storage.folded(name) collate "C" < high
        order by storage.folded(name) collate "C" desc;
    else
      open found_rows for select * from storage.objects
        where bucket_id = bucket
          and storage.folded(name) collate "C" >= low
          and storage.folded(name) collate "C" < high
        order by storage.folded(name) collate "C";
    end if;
    if left_out > 0 then
      move forward left_out in found_rows;
      left_out := 0;
    end if;
    is_folder := false;
    while not is_folder and given < wanted loop
      fetch found_rows into object;
      exit when not found;
      name := pg_catalog.array_to_string(object.path_tokens[first_shown:last_shown], '/');
      is_folder := pg_catalog.cardinality(object.path_tokens) > last_shown;
      if is_folder then
        id := null; updated_at := null; created_at := null; last_accessed_at := null; metadata := null;
      else
        id := object.id; updated_at := object.updated_at; created_at := object.created_at;
        last_accessed_at := object.last_accessed_at; metadata := object.metadata;
      end if;
      return next;
      given := given + 1;
    end loop;
    close found_rows;
    exit when not is_folder or given >= wanted;
    last_key := storage.folded(pg_catalog.array_to_string(object.path_tokens[1:last_shown], '/'));
    if is_descending then
      high := last_key || '/';
    else
      low := last_key || '0';
    end if;
  end loop;
end $$;
