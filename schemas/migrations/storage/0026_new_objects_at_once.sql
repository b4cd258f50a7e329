-- An insert of objects is counted and told by one trigger in three statements: nested functions took eight, at twice the CPU.
-- as: supabase_storage_admin

-- Count the new objects, unless a quota refuses them, and write their events; no events where session_replication_role
-- switches other triggers off.
create or replace function storage.note_new_objects() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  own constant smallint := pg_catalog.pg_backend_pid() % 32;
  told constant text := storage.creation_event(true);
  buckets text[];
  sizes bigint[];
  counts bigint[];
begin
  if not exists (select from made) then
    return null;  -- an upsert that only updated, or the name existed
  end if;

  if exists (select from storage.quotas) then
    select pg_catalog.array_agg(bucket), pg_catalog.array_agg(size), pg_catalog.array_agg(count)
    into buckets, sizes, counts
    from (
      select bucket_id, pg_catalog.sum(storage.counted_size(metadata))::bigint, pg_catalog.count(*)
      from made group by bucket_id
    ) as change (bucket, size, count);
    perform storage.refuse_beyond_quota(buckets, sizes, counts);
  else  -- what storage.add_usage does, without its arrays
    insert into storage.usage as known (bucket_id, shard, size, objects)
    select bucket_id, own, pg_catalog.sum(storage.counted_size(metadata))::bigint, pg_catalog.count(*)
    from made where bucket_id is not null group by bucket_id order by bucket_id
    on conflict (bucket_id, shard) do update
    set size = known.size + excluded.size, objects = known.objects + excluded.objects;
    insert into storage.usage_in_all as known (shard, size, objects)
    select own, pg_catalog.sum(storage.counted_size(metadata))::bigint, pg_catalog.count(*) from made
    on conflict (shard) do update
    set size = known.size + excluded.size, objects = known.objects + excluded.objects;
  end if;

  if pg_catalog.current_setting('session_replication_role') <> 'replica' then
    insert into storage.events_outbox (event, payload) select told, storage.object_payload(made, told) from made;
  end if;
  return null;
end $$;

revoke all on function storage.note_new_objects() from public;

drop trigger if exists tell_new_objects on storage.objects;
drop function if exists storage.tell_new_objects();
create or replace trigger count_new_objects after insert on storage.objects
  referencing new table as made for each statement execute function storage.note_new_objects();
alter table storage.objects enable always trigger count_new_objects;
