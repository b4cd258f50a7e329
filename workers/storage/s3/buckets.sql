-- Buckets of ListBuckets (buckets.py).

-- name: list
-- As the caller. $1 prefix, $2 id after which the page begins, $3 number of rows.
select json_build_object(
  'name', id, 'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
from storage.buckets
where id collate "C" > $2 and starts_with(id, $1)
order by id collate "C"
limit $3::int
