-- What a page passes over in a folder is counted inside the index scan, not given row by row.
-- as: supabase_storage_admin

drop function if exists storage.children(text, text, text, boolean, bigint);

-- What is right below a prefix, by name: `skipped` are passed over, then come `wanted` at most. Of a folder there is
-- nothing but the name. A run of files is passed over by one statement that stops at the next folder, a folder by a seek.
create or replace function storage.children(
  bucket text, prefix text, search text, is_descending boolean, wanted bigint, skipped bigint default 0
) returns table (
  name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz, metadata jsonb
)
language plpgsql stable set enable_sort = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  start constant text := prefix || search;
  first_shown constant int := pg_catalog.cardinality(pg_catalog.string_to_array('.' || prefix, '/'));
  last_shown constant int := pg_catalog.cardinality(pg_catalog.string_to_array('.' || start, '/'));
  low text collate "C" := storage.folded(start);
  high text collate "C" := storage.prefix_end(low);
  reached text collate "C";
  left_out bigint := skipped;
  given bigint := 0;
  is_folder boolean;
  found_rows refcursor;
  object record;
begin
  while left_out > 0 and wanted > 0 loop
    if is_descending then
      select place, path, key into object
      from (
        select path, key, pg_catalog.row_number() over () as place
        from (
          select path_tokens as path, storage.folded(name) collate "C" as key from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C" desc
          limit left_out
        ) as run
      ) as numbered
      where place = left_out or pg_catalog.cardinality(path) > last_shown
      limit 1;
    else
      select place, path, key into object
      from (
        select path, key, pg_catalog.row_number() over () as place
        from (
          select path_tokens as path, storage.folded(name) collate "C" as key from storage.objects
          where bucket_id = bucket
            and storage.folded(name) collate "C" >= low
            and storage.folded(name) collate "C" < high
          order by storage.folded(name) collate "C"
          limit left_out
        ) as run
      ) as numbered
      where place = left_out or pg_catalog.cardinality(path) > last_shown
      limit 1;
    end if;
    if not found then
      return;  -- there are not so many
    end if;
    exit when pg_catalog.cardinality(object.path) <= last_shown;
    left_out := left_out - object.place;
    reached := storage.folded(pg_catalog.array_to_string(object.path[1:last_shown], '/'));
    if is_descending then
      high := reached || '/';
    else
      low := reached || '0';  -- what comes after the slash
    end if;
  end loop;
  -- Where files remain to be passed over, the last of them is known: the scan begins behind it, unless others have the
  -- same name in another case.
  if left_out > 0 and wanted > 0 then
    reached := object.key;
    if (
      select pg_catalog.count(*) = 1 from storage.objects
      where bucket_id = bucket
        and storage.folded(name) collate "C" >= reached
        and storage.folded(name) collate "C" < reached || pg_catalog.chr(1)
    ) then
      left_out := 0;
      if is_descending then
        high := reached;
      else
        low := reached || pg_catalog.chr(1);
      end if;
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
    reached := storage.folded(pg_catalog.array_to_string(object.path_tokens[1:last_shown], '/'));
    if is_descending then
      high := reached || '/';
    else
      low := reached || '0';  -- what comes after the slash
    end if;
  end loop;
end $$;

-- `levels` is what callers of old count themselves: how deep the prefix is, which the prefix tells as well.
create or replace function storage.search(
  prefix text, bucketname text, limits int default 100, levels int default 1, offsets int default 0,
  search text default '', sortcolumn text default 'name', sortorder text default 'asc'
) returns table (
  name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz, metadata jsonb
)
language plpgsql stable as $$
#variable_conflict use_column
declare
  folder constant text := coalesce(prefix, '');
  beginning constant text := coalesce(search, '');
  is_descending constant boolean := coalesce(pg_catalog.lower(sortorder) = 'desc', false);
  page constant bigint := greatest(least(coalesce(limits, 100), 1500), 0);
  skipped constant bigint := greatest(coalesce(offsets, 0), 0);
begin
  if pg_catalog.lower(sortcolumn) in ('created_at', 'updated_at', 'last_accessed_at') then
    return query
      with children as (
        select child.*,
          case pg_catalog.lower(sortcolumn)
            when 'created_at' then child.created_at
            when 'updated_at' then child.updated_at
            else child.last_accessed_at
          end as moment
        from storage.children(bucketname, folder, beginning, is_descending, 9223372036854775807) with ordinality
          as child (name, id, updated_at, created_at, last_accessed_at, metadata, place)
      )
      select name, id, updated_at, created_at, last_accessed_at, metadata from children
      order by id is not null,
        case when id is not null and not is_descending then moment end,
        case when id is not null and is_descending then moment end desc,
        place
      limit page offset skipped;
  else
    return query select * from storage.children(bucketname, folder, beginning, is_descending, page, skipped);
  end if;
end $$;

grant execute on function storage.children(text, text, text, boolean, bigint, bigint),
  storage.search(text, text, int, int, int, text, text, text) to public;
