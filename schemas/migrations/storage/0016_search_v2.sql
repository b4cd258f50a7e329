-- Search, second form: whole keys in byte order, by cursors; by dates a folder is as old as the oldest key in it.
-- as: supabase_storage_admin

-- A page goes on after the pair of date, in whole milliseconds, and name. `p_level` is told by the prefix as well.
create or replace function storage.search_by_timestamp(
  p_prefix text, p_bucket_id text, p_limit int, p_level int, p_start_after text, p_sort_order text, p_sort_column text,
  p_sort_column_after text
) returns table (
  key text, name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz,
  metadata jsonb
)
language plpgsql stable as $$
#variable_conflict use_column
declare
  prefix constant text := coalesce(p_prefix, '');
  is_descending constant boolean := coalesce(pg_catalog.lower(p_sort_order) = 'desc', false);
  after_name constant text := nullif(p_start_after, '');
  after_moment constant timestamptz := coalesce(nullif(p_sort_column_after, '')::timestamptz, 'epoch');
begin
  return query
    with objects as (
      select each.*, storage.get_common_prefix(each.name, prefix, '/') as folder
      from storage.objects as each
      where each.bucket_id = p_bucket_id
        and each.name collate "C" >= prefix
        and each.name collate "C" < storage.prefix_end(prefix)
    ),
    entries as (
      select name, id, updated_at, created_at, last_accessed_at, metadata from objects where folder is null
      union all
      select folder, null, pg_catalog.min(created_at), pg_catalog.min(created_at), null, null from objects where folder is not null
      group by folder
    ),
    dated as (
      select *,
        coalesce(
          pg_catalog.date_trunc(
            'milliseconds', case pg_catalog.lower(p_sort_column) when 'updated_at' then updated_at else created_at end
          ),
          'epoch'
        ) as moment
      from entries
    )
    select storage.filename(pg_catalog.regexp_replace(name, '/$', '')),
      name, id, updated_at, created_at, last_accessed_at, metadata
    from dated
    where after_name is null
      or (not is_descending and (moment, name collate "C") > (after_moment, after_name))
      or (is_descending and (moment, name collate "C") < (after_moment, after_name))
    order by
      case when not is_descending then moment end,
      case when is_descending then moment end desc,
      case when not is_descending then name collate "C" end,
      case when is_descending then name collate "C" end desc
    limit greatest(least(coalesce(p_limit, 100), 1500), 0);
end $$;

create or replace function storage.search_v2(
  prefix text, bucket_name text, limits int default 100, levels int default 1, start_after text default '',
  sort_order text default 'asc', sort_column text default 'name', sort_column_after text default ''
) returns table (
  key text, name text, id uuid, updated_at timestamptz, created_at timestamptz, last_accessed_at timestamptz,
  metadata jsonb
)
language plpgsql stable as $$
#variable_conflict use_column
begin
  if pg_catalog.lower(sort_column) in ('created_at', 'updated_at') then
    return query
      select * from storage.search_by_timestamp(
        prefix, bucket_name, limits, levels, start_after, sort_order, sort_column, sort_column_after
      );
  else
    return query
      select storage.filename(pg_catalog.regexp_replace(each.name, '/$', '')),
        each.name, each.id, each.updated_at, each.created_at, each.last_accessed_at, each.metadata
      from storage.list_objects_with_delimiter(
        bucket_name, prefix, '/', greatest(least(coalesce(limits, 100), 1500), 0), start_after, '', sort_order
      ) as each;
  end if;
end $$;

grant execute on function storage.search_by_timestamp(text, text, int, int, text, text, text, text),
  storage.search_v2(text, text, int, int, text, text, text, text) to public;
