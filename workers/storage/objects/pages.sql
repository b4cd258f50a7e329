-- Pages of listings that are read again only if their bucket has changed (pages.py).

-- name: mark
-- As the caller, if it is the service role: the mark of what the bucket holds, and the page, null if `known_mark` is still right.
-- The mark is null where it says nothing: policies apply, the caller may not read objects, or nothing was counted yet. It
-- names the versions of the rows that every change of the bucket's objects writes, and the server that wrote them: after a failover
-- another transaction may have the number of a lost one.
with current as materialized (
  select case
    when has_table_privilege('storage.objects', 'select') and not row_security_active('storage.objects') then (
      select string_agg(usage.xmin::text || usage.ctid::text, '' order by usage.shard)
        || extract(epoch from pg_postmaster_start_time())::text
      from storage.usage where usage.bucket_id = {bucket}
    )
  end as mark
)
select mark, case when mark is distinct from {known_mark}::text then ({page}) end
from current
