-- How much a bucket, or all of them together, may hold. A change that would pass a quota is refused, whoever makes it.
-- as: supabase_storage_admin

create table if not exists storage.quotas (
  bucket_id text references storage.buckets on delete cascade,
  size bigint not null constraint quotas_size_check check (size >= 0),
  constraint quotas_bucket_id_key unique nulls not distinct (bucket_id)
);

comment on table storage.quotas is 'Bytes that may lie in a bucket; the row without a bucket counts for all of them together';

alter table storage.quotas enable row level security;
revoke all on storage.quotas from anon, authenticated;
grant select, insert, update, delete on storage.quotas to service_role;

-- As the service role: the bytes that an object of this name may have; null: no quota holds.
create or replace function storage.room_for(bucket text, object text) returns bigint
language sql stable set search_path = pg_catalog, pg_temp as $$
  select pg_catalog.min(
    greatest(
      quotas.size - case
        when quotas.bucket_id is null then (select coalesce(pg_catalog.sum(size), 0) from storage.usage_in_all)
        else (select coalesce(pg_catalog.sum(size), 0) from storage.usage where usage.bucket_id = quotas.bucket_id)
      end,
      0
    )
    + coalesce((
      select storage.counted_size(metadata) from storage.objects
      where objects.bucket_id = room_for.bucket and objects.name = room_for.object
    ), 0)
  )::bigint
  from storage.quotas
  where quotas.bucket_id = room_for.bucket or quotas.bucket_id is null
$$;

-- Add to the counts, unless a bucket that grows would pass its quota, or all together theirs. Who adds to what has a quota
-- goes one after another, each seeing what the ones before added; locks are taken in one order, before any count is.
create or replace function storage.refuse_beyond_quota(buckets text[], sizes bigint[], counts bigint[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  quota storage.quotas;
  held bigint;
  watched storage.quotas[];
begin
  if exists (select from storage.quotas)
    and pg_catalog.current_setting('session_replication_role') <> 'replica'
  then
    for quota in
      select quotas.* from storage.quotas
      left join (
        select bucket, pg_catalog.sum(size) from unnest(buckets, sizes) as change (bucket, size) group by bucket
      ) as grown (bucket, size) on grown.bucket = quotas.bucket_id
      where case
        when quotas.bucket_id is null then (select pg_catalog.sum(size) from unnest(sizes) as change (size)) > 0
        else grown.size > 0
      end
      order by quotas.bucket_id nulls last
    loop
      perform pg_catalog.pg_advisory_xact_lock(
        pg_catalog.hashtextextended('headwater storage quota ' || coalesce(quota.bucket_id, '/'), 0)
      );
      watched := watched || quota;
    end loop;
  end if;

  perform storage.add_usage(buckets, sizes, counts);

  foreach quota in array coalesce(watched, '{}') loop
    if quota.bucket_id is null then
      select pg_catalog.sum(size) into held from storage.usage_in_all;
    else
      select pg_catalog.sum(size) into held from storage.usage where usage.bucket_id = quota.bucket_id;
    end if;
    if held > quota.size then
      raise exception using
        errcode = 'HW413',
        message = case
          when quota.bucket_id is null then 'The quota of the storage is exceeded'
          else 'The quota of the bucket is exceeded'
        end,
        schema = 'storage',
        table = 'quotas';
    end if;
  end loop;
end $$;

revoke all on function storage.add_usage(text[], bigint[], bigint[]), storage.count_changed_objects(),
  storage.recount_usage(), storage.forget_usage(), storage.refuse_beyond_quota(text[], bigint[], bigint[]) from public;

create or replace trigger count_new_objects after insert on storage.objects
  referencing new table as made for each statement execute function storage.count_changed_objects();
create or replace trigger count_changed_objects after update on storage.objects
  referencing old table as gone new table as made for each statement execute function storage.count_changed_objects();
create or replace trigger count_deleted_objects after delete on storage.objects
  referencing old table as gone for each statement execute function storage.count_changed_objects();
create or replace trigger forget_usage after truncate on storage.objects
  for each statement execute function storage.forget_usage();
create or replace trigger forget_usage after delete on storage.buckets
  for each row execute function storage.forget_usage();

-- Also where session_replication_role switches other triggers off: what is restored is counted, and refused by no quota.
alter table storage.objects enable always trigger count_new_objects;
alter table storage.objects enable always trigger count_changed_objects;
alter table storage.objects enable always trigger count_deleted_objects;
alter table storage.objects enable always trigger forget_usage;
alter table storage.buckets enable always trigger forget_usage;

-- Behind the triggers, which keep writers out until this is committed.
do $$
begin
  perform storage.recount_usage();
end $$;
