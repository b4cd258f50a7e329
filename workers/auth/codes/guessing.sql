-- Wrong passwords in a row (guessing.py): `count` of them, the last at `updated_at`. $2 tries are free; $3 are the seconds
-- to wait after each further one, the last of them for all that follow. After $4 seconds without one all are forgotten.

-- name: wait
-- Whole seconds until the next try may come; 0 at once. $1 and $5 are the names: as an array they would be planned anew each
-- time, because the server takes an array that it does not know for a long one.
select coalesce(max(ceil(extract(epoch from
  updated_at + ($3::int[])[least(count::int - $2::int + 1, cardinality($3::int[]))] * interval '1 second'
  - clock_timestamp()
))), 0)::int
from auth.rate_limits
where name in ($1, $5) and count >= $2::int and updated_at > clock_timestamp() - $4::int * interval '1 second'

-- name: lock
-- In the order of their names, so that nobody waits for each other. $1 are the names, as an array, here and below.
select 1 from auth.rate_limits where name = any($1::text[]) order by name for update

-- name: count
-- Gives the names that were counted: those for which no wait lasts. Two at once count one after the other.
insert into auth.rate_limits as tries (name, count, window_start, updated_at)
select name, 1, clock_timestamp(), clock_timestamp() from unnest($1::text[]) name order by name
on conflict (name) do update set
  count = case when tries.updated_at > clock_timestamp() - $4::int * interval '1 second' then tries.count + 1 else 1 end,
  updated_at = clock_timestamp()
where tries.count < $2::int
  or tries.updated_at + ($3::int[])[least(tries.count::int - $2::int + 1, cardinality($3::int[]))] * interval '1 second'
    <= clock_timestamp()
returning 1

-- name: pass
-- Forgets them after a right one. While a wait lasts it fails, and with it all that is written along. Locks as `lock` does.
with tries as (
  select count, updated_at from auth.rate_limits where name = any($1::text[]) order by name for update
), waits as (
  select max(ceil(extract(epoch from
    updated_at + ($3::int[])[least(count::int - $2::int + 1, cardinality($3::int[]))] * interval '1 second'
    - clock_timestamp()
  ))) as wait_s
  from tries
  where count >= $2::int and updated_at > clock_timestamp() - $4::int * interval '1 second'
), forgotten as (
  delete from auth.rate_limits
  where name = any($1::text[]) and not exists (select from waits where wait_s > 0)
)
select ('too many wrong ones, seconds to wait: ' || wait_s)::int from waits where wait_s > 0

-- name: forget
delete from auth.rate_limits where name = any($1::text[])
