-- Emptying of buckets (emptying.py), as the service role.

-- name: begin
insert into storage.emptyings (bucket_id, before, request_id)
values ($1, clock_timestamp(), $2)
returning id

-- name: take
-- One worker at a time.
select 1 from storage.emptyings where id = $1 for update

-- name: left
-- Unlocked rows. Batches are committed one by one, so another worker may take a row between two batches.
select json_build_object('id', id, 'bucket_id', bucket_id, 'request_id', request_id)
from storage.emptyings
order by id
for update skip locked

-- name: delete_batch
-- In the order of names, each visited once; objects without a name are deleted with the last batch. Returns how many names were visited.
with work as (
  select bucket_id, before, last_name from storage.emptyings where id = $1
),
batch as (
  select objects.id, name, coalesce(greatest(created_at, updated_at) <= before, true) as is_old
  from storage.objects
  join work on objects.bucket_id = work.bucket_id and objects.name collate "C" > work.last_name
  order by name collate "C"
  limit $2::bigint
),
gone as (
  delete from storage.objects
  where id in (
    select id from batch where is_old
    union all
    select objects.id from storage.objects, work
    where objects.bucket_id = work.bucket_id and objects.name is null
      and coalesce(greatest(objects.created_at, objects.updated_at) <= work.before, true)
  )
),
moved_on as (
  update storage.emptyings
  set last_name = coalesce((select max(name collate "C") from batch), last_name)
  where id = $1
)
select count(*) from batch

-- name: end
delete from storage.emptyings where id = $1
