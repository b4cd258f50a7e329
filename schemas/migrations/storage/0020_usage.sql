-- How much every bucket holds, counted with each change of its objects: what is read is a few rows, however full it is.
-- as: supabase_storage_admin

-- A count is the sum of its shards: transactions at the same time mostly write different ones.
create table if not exists storage.usage (
  bucket_id text not null,
  shard smallint not null,
  size bigint not null default 0,
  objects bigint not null default 0,
  primary key (bucket_id, shard)
) with (fillfactor = 50);

create table if not exists storage.usage_in_all (
  shard smallint primary key,
  size bigint not null default 0,
  objects bigint not null default 0
) with (fillfactor = 50);

comment on table storage.usage is 'Bytes and objects of each bucket, written by triggers on objects';
comment on table storage.usage_in_all is 'The same of all buckets together';

alter table storage.usage enable row level security;
alter table storage.usage_in_all enable row level security;
revoke all on storage.usage, storage.usage_in_all from anon, authenticated;
grant select on storage.usage, storage.usage_in_all to service_role;

-- The bytes that an object counts for. Before they came, as policies are tried, the declared length; that of a form says less.
create or replace function storage.counted_size(metadata jsonb) returns bigint
language sql immutable parallel safe as $$
  select case
    when metadata ->> 'size' ~ '^[0-9]{1,18}$' then (metadata ->> 'size')::bigint
    when metadata ? 'size' or metadata ? 'isForm' then 0
    when metadata ->> 'contentLength' ~ '^[0-9]{1,18}$' then (metadata ->> 'contentLength')::bigint
    else 0
  end
$$;

-- Add to the counts of some buckets; entries of the three lists belong together, a bucket may stand there more than once.
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
    insert into storage.usage_in_all as known (shard, size, objects)
    values (own, sizes[1], counts[1])
    on conflict (shard) do update
    set size = known.size + excluded.size, objects = known.objects + excluded.objects;
    return;
  end if;

  insert into storage.usage as known (bucket_id, shard, size, objects)
  select bucket, own, pg_catalog.sum(size), pg_catalog.sum(count)
  from unnest(buckets, sizes, counts) as change (bucket, size, count)
  where bucket is not null
  group by bucket
  having pg_catalog.sum(size) <> 0 or pg_catalog.sum(count) <> 0
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
      having pg_catalog.sum(size) <> 0 or pg_catalog.sum(count) <> 0
    ) as change (bucket, size, count);
  end if;
  if buckets is not null then
    perform storage.refuse_beyond_quota(buckets, sizes, counts);
  end if;
  return null;
end $$;

-- Count anew, as the owner; for tables that were filled without their triggers. Writers wait.
create or replace function storage.recount_usage() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  lock table storage.objects in share row exclusive mode;
  delete from storage.usage;
  delete from storage.usage_in_all;
  insert into storage.usage (bucket_id, shard, size, objects)
  select bucket_id, 0, pg_catalog.sum(storage.counted_size(metadata)), pg_catalog.count(*)
  from storage.objects where bucket_id is not null group by bucket_id;
  insert into storage.usage_in_all (shard, size, objects)
  select 0, coalesce(pg_catalog.sum(storage.counted_size(metadata)), 0), pg_catalog.count(*) from storage.objects;
end $$;

create or replace function storage.forget_usage() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_table_name = 'objects' then
    delete from storage.usage;
    delete from storage.usage_in_all;
  else
    delete from storage.usage where bucket_id = old.id;
  end if;
  return null;
end $$;
