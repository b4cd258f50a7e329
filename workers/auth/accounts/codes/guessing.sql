-- Wrong passwords in a row (guessing.py): `count` of them, the last at `updated_at`, for two names: $1 the account at all
-- unknown networks, $2 the account at one network. $3 is the hash by which the network may be known; at a known network the
-- first name does not count. $4 are the seconds to wait after each further attempt once the free ones ($5, $6) are used up, the
-- last of them for all that follow; after $7, $8 seconds without one the counter is forgotten. $9: how long a network is known.
-- The names are not passed as an array: Postgres would make a new plan for each call, because it assumes that an array
-- parameter is long.

-- name: wait
-- Whole seconds until the next attempt is allowed; 0 at once.
select coalesce(max(ceil(extract(epoch from
  updated_at + ($4::int[])[least(count::int - free + 1, cardinality($4::int[]))] * interval '1 second' - clock_timestamp()
))), 0)::int
from (
  select count, updated_at,
    case when name = $2 then $6::int else $5::int end as free,
    case when name = $2 then $8::int else $7::int end as window_s
  from auth.rate_limits
  where name = $2 or (name = $1 and not exists (
    select from auth.known_networks where network_hash = $3 and seen_at > now() - $9::int * interval '1 second'
  ))
) tries
where count >= free and updated_at > clock_timestamp() - window_s * interval '1 second'

-- name: count
-- True if the attempt was counted under both names, so no wait lasts. Concurrent attempts lock in the order of names.
with wanted as (
  select name from (values ($1), ($2)) names (name)
  where name <> '' and (name = $2 or not exists (
    select from auth.known_networks where network_hash = $3 and seen_at > now() - $9::int * interval '1 second'
  ))
), counted as (
  insert into auth.rate_limits as tries (name, count, window_start, updated_at)
  select name, 1, clock_timestamp(), clock_timestamp() from wanted order by name
  on conflict (name) do update set
    count = case
      when tries.updated_at > clock_timestamp() - case when tries.name = $2 then $8::int else $7::int end * interval '1 second'
      then tries.count + 1 else 1
    end,
    updated_at = clock_timestamp()
  where tries.count < case when tries.name = $2 then $6::int else $5::int end
    or tries.updated_at + ($4::int[])[least(
      tries.count::int - case when tries.name = $2 then $6::int else $5::int end + 1, cardinality($4::int[])
    )] * interval '1 second' <= clock_timestamp()
  returning 1
)
select ((select count(*) from counted) = (select count(*) from wanted))::text

-- name: pass
-- Resets the counter of this network after a correct password; other counters stay, so attackers gain nothing from it.
-- While a wait lasts it fails, and with it the whole transaction. Locks in the order of names.
with tries as (
  select name, count, updated_at,
    case when name = $2 then $6::int else $5::int end as free,
    case when name = $2 then $8::int else $7::int end as window_s
  from auth.rate_limits
  where name = $2 or (name = $1 and not exists (
    select from auth.known_networks where network_hash = $3 and seen_at > now() - $9::int * interval '1 second'
  ))
  order by name for update
), waits as (
  select max(ceil(extract(epoch from
    updated_at + ($4::int[])[least(count::int - free + 1, cardinality($4::int[]))] * interval '1 second' - clock_timestamp()
  ))) as wait_s
  from tries
  where count >= free and updated_at > clock_timestamp() - window_s * interval '1 second'
), forgotten as (
  delete from auth.rate_limits where name = $2 and not exists (select from waits where wait_s > 0)
)
select ('too many wrong ones, seconds to wait: ' || wait_s)::int from waits where wait_s > 0

-- name: lock
-- In the order of names, so that no deadlock can occur.
select 1 from auth.rate_limits where name in ($1, $2) order by name for update

-- name: forget
delete from auth.rate_limits where name = $1
