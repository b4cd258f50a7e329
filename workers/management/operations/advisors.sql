-- Dismissed findings of the advisors; statements of the login headwater_management.

-- name: dismissed
select pg_catalog.to_json(cache_key) from headwater.dismissed_findings order by cache_key limit 10000

-- name: dismissals
select pg_catalog.json_build_object('cache_key', cache_key, 'actor', actor, 'reason', reason, 'at', at)
from headwater.dismissed_findings order by at desc, cache_key limit $1::integer

-- name: dismiss
insert into headwater.dismissed_findings (cache_key, actor, reason) values ($1, $2, $3)
on conflict (cache_key) do update set actor = excluded.actor, reason = excluded.reason, at = pg_catalog.now()
returning pg_catalog.json_build_object('cache_key', cache_key, 'actor', actor, 'reason', reason, 'at', at)

-- name: restore
delete from headwater.dismissed_findings where cache_key = $1
returning pg_catalog.json_build_object('cache_key', cache_key, 'actor', actor, 'reason', reason, 'at', at)
