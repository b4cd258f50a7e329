-- Places of drains (log_drain.py), as the pool's login. The table: management/0012_log_drains.sql.

-- name: forget
delete from headwater.log_drains where drain <> all ($1::text[])

-- name: place
select created, seq from headwater.log_drains where drain = $1 and stream = $2

-- name: begin
insert into headwater.log_drains (drain, stream, created, seq) values ($1, $2, $3, $4)
on conflict (drain, stream) do update set created = excluded.created, seq = excluded.seq

-- name: sent
update headwater.log_drains
set seq = $3, sent = sent + $4, rejected = rejected + $5, lost = lost + $6, failing_since = null, error = ''
where drain = $1 and stream = $2

-- name: failing
update headwater.log_drains set failing_since = coalesce(failing_since, pg_catalog.now()), error = $3 where drain = $1 and stream = $2
