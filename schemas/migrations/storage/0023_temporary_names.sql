-- Temporary types and tables hide nothing from functions that run with the rights of their owner, or in triggers.
-- as: supabase_storage_admin

-- An empty search path begins with pg_temp where types and tables are meant: a session could make a domain `text` there whose
-- check ran as the owner of the function.
do $$
declare
  changed pg_catalog.regprocedure;
begin
  -- What a project has dropped or given to another owner is its own affair.
  for changed in
    select pg_proc.oid::pg_catalog.regprocedure
    from pg_catalog.unnest(array[
      'storage.bury_deleted_objects()',
      'storage.bury_replaced_version()',
      'storage.bury_all_objects()',
      'storage.tell_new_objects()',
      'storage.tell_changed_object()',
      'storage.tell_deleted_objects()',
      'storage.tell_bucket()',
      'storage.count_changed_objects()',
      'storage.forget_usage()',
      'storage.add_usage(text[], bigint[], bigint[])',
      'storage.refuse_beyond_quota(text[], bigint[], bigint[])',
      'storage.recount_usage()',
      'storage.room_for(text, text)',
      'storage.protect_delete()',
      'storage.enforce_bucket_name_length()',
      'storage.update_updated_at_column()'
    ]) as name
    join pg_catalog.pg_proc on pg_proc.oid = pg_catalog.to_regprocedure(name)
    join pg_catalog.pg_roles on pg_roles.oid = proowner and rolname = current_user
  loop
    execute pg_catalog.format('alter function %s set search_path = pg_catalog, pg_temp', changed);
  end loop;
end $$;

-- The same as before, with every function named in full.
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
