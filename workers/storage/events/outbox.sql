-- The outbox of events (outbox.py), as the login role, which owns the table.

-- name: take
-- Lock the first events of some objects (a bucket counts as one): the lock on the first row stands for the object. The window is
-- the oldest rows, so the first row of an object in it is its first of all; rows that another worker has locked are skipped.
with oldest as materialized (
  select
    id, coalesce(payload ->> 'bucketId', '') as bucket,
    coalesce(case when event not like 'Bucket:%' then payload ->> 'name' end, '') as name
  from storage.events_outbox
  order by id
  limit $1::bigint
)
select id
from storage.events_outbox
where id in (select min(id) from oldest group by bucket, name)
order by id
limit $2::bigint
for update skip locked

-- name: read
-- The events of the objects with these first rows, in order: id, type, payload, time, owner if the object still exists.
with oldest as materialized (
  select
    id, event, payload, created_at, coalesce(payload ->> 'bucketId', '') as bucket,
    coalesce(case when event not like 'Bucket:%' then payload ->> 'name' end, '') as name
  from storage.events_outbox
  order by id
  limit $2::bigint
),
mine as (
  select distinct bucket, name from oldest where id = any (array(select jsonb_array_elements_text($1::jsonb)::bigint))
)
select
  id, event, payload, to_json(created_at at time zone 'UTC') #>> '{}', (
    select coalesce(owner_id, owner::text)
    from storage.objects
    where bucket_id = oldest.bucket and objects.name = oldest.name
      and version is not distinct from oldest.payload ->> 'version'
  )
from oldest
join mine using (bucket, name)
order by id
limit $3::bigint

-- name: forget
delete from storage.events_outbox where id = any (array(select jsonb_array_elements_text($1::jsonb)::bigint))

-- name: measure
-- How many events wait, up to a number, and for how many seconds the oldest has waited.
select json_build_object(
  'count', (select count(*) from (select from storage.events_outbox limit $1::bigint) counted),
  'age_s', coalesce((
    select extract(epoch from clock_timestamp() - created_at) from storage.events_outbox order by id limit 1
  ), 0)
)
