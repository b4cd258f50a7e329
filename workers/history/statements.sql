-- Statements of the leader of the pool history (workers/history). The tables: management/0014_history.sql.

-- name: comments
-- Tables whose comment has a directive of ours, and those that have a history now, with what the latter say.
select
  c.oid::int8 as relation, n.nspname::text as schema, c.relname::text as name, coalesce(d.description, '') as comment,
  t.id, t.days, coalesce(t.is_on, false) as is_on,
  t.table_schema is distinct from n.nspname::text or t.table_name is distinct from c.relname::text or c.relreplident <> 'f'
  or headwater.unpublished_columns(c.oid) <> ''
  or not exists (
    select from pg_catalog.pg_trigger as w where w.tgrelid = c.oid and w.tgname = 'headwater_history' and w.tgenabled = 'A'
  ) as is_changed
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
left join pg_catalog.pg_description as d
  on d.objoid = c.oid and d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objsubid = 0
left join headwater_history.tables as t on t.relation = c.oid
where d.description like '%@headwater(%' or t.is_on

-- name: gone
-- Tables with history that were dropped.
select t.id from headwater_history.tables as t
where t.is_on and not exists (select from pg_catalog.pg_class as c where c.oid = t.relation)

-- name: tables
-- Tables that have a history now, or whose past is still read from the stream.
select t.id, t.relation::int8 as relation, t.table_schema as schema, t.table_name as name, t.key, t.since_lsn, t.is_on
from headwater_history.tables as t
order by t.id

-- name: publish
select realtime.publish_for_sync($1::oid)

-- name: on
select headwater.history_on($1::oid, $2::int4)

-- name: off
select headwater.history_off($1::int4)

-- name: expire
select headwater.history_expire()

-- name: partition
select headwater.history_partition($1::int4, $2::timestamptz)

-- name: partitions
select p.table_id, p.starts, p.ends from headwater_history.partitions as p

-- name: place
select stream, seq, lsn from headwater_history.place

-- name: keep_place
insert into headwater_history.place (stream, seq, lsn) values ($1, $2, $3)
on conflict (is_only) do update set stream = excluded.stream, seq = excluded.seq, lsn = excluded.lsn

-- name: forget_place
delete from headwater_history.place

-- name: store
-- Versions, and up to where the stream was read for them, in one statement: either both are stored or neither. Versions of messages that
-- were read before change nothing.
with moved as (
  insert into headwater_history.place as p (stream, seq, lsn) values ($1, $2, $3)
  on conflict (is_only) do update set stream = excluded.stream, seq = excluded.seq, lsn = excluded.lsn
  where p.stream <> excluded.stream or p.seq < excluded.seq
  returning 1
)
insert into headwater_history.versions (
  table_id, at, lsn, number, index, operation, key, former_key, before, after, omitted,
  source, request_id, role, sub, area, request, login, by_trigger, nonce, issued_ms
)
select
  v.table_id, v.at, v.lsn, v.number, v.index, v.operation, v.key, v.former_key, v.before, v.after, v.omitted,
  v.source, v.request_id, v.role, v.sub, v.area, v.request, v.login, v.by_trigger, v.nonce, v.issued_ms
from pg_catalog.json_to_recordset($4::json) as v (
  table_id int4, at timestamptz, lsn int8, number int4, index int4, operation text, key text, former_key text, before json, after json,
  omitted text[], source text, request_id text, role text, sub text, area text, request text, login text, by_trigger bool,
  nonce text, issued_ms int8
)
where exists (select from moved)
on conflict do nothing

-- name: gap
-- Versions may be missing behind a position: of these tables.
insert into headwater_history.gaps (table_id, after_lsn, reason)
select t.id, $2, $3 from pg_catalog.unnest($1::int4[]) as t (id)
on conflict do nothing

-- name: nonces
-- Causes that were believed lately, and the transactions that they came with.
select distinct v.nonce, v.issued_ms, v.lsn from headwater_history.tables as t
join headwater_history.versions as v on v.table_id = t.id and v.at > pg_catalog.now() - $1::float8 * interval '1 second'
where v.nonce is not null
order by v.issued_ms

-- name: can_store
-- Fails for a version that cannot be stored.
select pg_catalog.count(v.before) + pg_catalog.count(v.after) + pg_catalog.count(v.sub) + pg_catalog.count(v.key)
from pg_catalog.json_to_recordset($1::json) as v (
  key text, former_key text, before json, after json, request_id text, role text, sub text, request text, login text
)
