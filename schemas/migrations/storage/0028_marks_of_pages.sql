-- Every change of an object, also one that changes no count, makes a new version of a row of its bucket in storage.usage.
-- So the versions of these rows are an exact mark of what the bucket holds: a page read under the same mark is the same page.
-- as: supabase_storage_admin

-- Add to the counts of some buckets; entries of the three lists belong together, a bucket may stand there more than once. A bucket
-- whose counts stay as they are gets a new version of its row, too; the row of all buckets does not.
create or replace function storage.add_usage(buckets text[], sizes bigint[], counts bigint[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own constant smallint := pg_catalog.pg_backend_pid() % 32;
begin
  if pg_catalog.cardinality(buckets) = 1 and buckets[1] is not null then  -- what nearly all are, in a third of the time
    insert into storage.usage as known (bucket_id, shard, size, objects)
    values (buckets[1], own, sizes[1], counts[1])
    on conflict (bucket_id, shard) do update
    set size = known.size + excluded.size, objects = known.objects + excluded.objects;
    if sizes[1] <> 0 or counts[1] <> 0 then
      insert into storage.usage_in_all as known (shard, size, objects)
      values (own, sizes[1], counts[1])
      on conflict (shard) do update
      set size = known.size + excluded.size, objects = known.objects + excluded.objects;
    end if;
    return;
  end if;

  insert into storage.usage as known (bucket_id, shard, size, objects)
  select bucket, own, pg_catalog.sum(size), pg_catalog.sum(count)
  from unnest(buckets, sizes, counts) as change (bucket, size, count)
  where bucket is not null
  group by bucket
  order by bucket
  on conflict (bucket_id, shard) do update
  set size = known.size + excluded.size, objects = known.objects + excluded.objects;

  insert into storage.usage_in_all as known (shard, size, objects)
  select own, pg_catalog.sum(size), pg_catalog.sum(count)
  from unnest(sizes, counts) as change (size, count)
  having pg_catalog.sum(size) <> 0 or pg_catalog.sum(count) <> 0
  on conflict (shard) do update
  set size = known.size + excluded.size, objects = known.objects + excluded.objects;
end $$;

create or replace function storage.count_changed_objects() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  buckets text[];
  sizes bigint[];
  counts bigint[];
begin
  if tg_op = 'INSERT' then
    select pg_catalog.array_agg(bucket), pg_catalog.array_agg(size), pg_catalog.array_agg(count)
    into buckets, sizes, counts
    from (
      select bucket_id, pg_catalog.sum(storage.counted_size(metadata))::bigint, pg_catalog.count(*)
      from made group by bucket_id
    ) as change (bucket, size, count);
  elsif tg_op = 'DELETE' then
    select pg_catalog.array_agg(bucket), pg_catalog.array_agg(size), pg_catalog.array_agg(count)
    into buckets, sizes, counts
    from (
      select bucket_id, -pg_catalog.sum(storage.counted_size(metadata))::bigint, -pg_catalog.count(*)
      from gone group by bucket_id
    ) as change (bucket, size, count);
  else
    select pg_catalog.array_agg(bucket), pg_catalog.array_agg(size), pg_catalog.array_agg(count)
    into buckets, sizes, counts
    from (
      select bucket_id, pg_catalog.sum(size)::bigint, pg_catalog.sum(count)::bigint
      from (
        select bucket_id, storage.counted_size(metadata), 1 from made
        union all
        select bucket_id, -storage.counted_size(metadata), -1 from gone
      ) as each (bucket_id, size, count)
      group by bucket_id
    ) as change (bucket, size, count);
  end if;
  if buckets is not null then
    perform storage.refuse_beyond_quota(buckets, sizes, counts);
  end if;
  return null;
end $$;

revoke all on function storage.add_usage(text[], bigint[], bigint[]), storage.count_changed_objects() from public;
