-- Whether tables have a history (history_watch.py).

-- name: watch
-- Whether a trigger of a history is there or a comment asks for one, so that writes are signed; and whether the pool `history` has something
-- to switch, to write or to remove.
select w.is_needed, w.is_needed or exists (select from headwater_history.tables)
from (
  select
    exists (select from pg_catalog.pg_trigger as t where t.tgname = 'headwater_history')
    or exists (
      select from pg_catalog.pg_description as d
      where d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objsubid = 0 and d.description like '%@headwater(%'
    ) as is_needed
) as w
