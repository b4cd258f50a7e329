-- Whether transactions of requests are signed, and whether tables have a history (history_watch.py).

-- name: watch
-- Whether a trigger that writes causes is there, of a history or of a webhook (headwater.switch_webhook_causes), or a comment asks for one, so
-- that writes are signed; and whether the pool `history` has something to switch, to write or to remove.
select
  w.has_history or exists (select from pg_catalog.pg_trigger as t where t.tgname = 'headwater_cause'),
  w.has_history or exists (select from headwater_history.tables)
from (
  select
    exists (select from pg_catalog.pg_trigger as t where t.tgname = 'headwater_history')
    or exists (
      select from pg_catalog.pg_description as d
      where d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objsubid = 0 and d.description like '%@headwater(%'
    ) as has_history
) as w
