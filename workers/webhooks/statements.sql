-- Statements of the leader of the pool webhooks (workers/webhooks). The tables: management/0010_event_webhooks.sql.

-- name: webhooks
-- All webhooks; of those of rows the table as it is now, 0 where there is none.
select pg_catalog.row_to_json(each)::text as row
from (
  select
    w.id, w.name, w.source, w.events, w.table_schema as schema, w.table_name as "table", w.filters, w.columns, w.with_old, w.is_ordered,
    w.sealed, w.is_full, w.is_followed, w.pause_reason is not null as is_paused,
    (w.created_lsn - '0/0'::pg_lsn)::int8 as created_lsn,
    coalesce(pg_catalog.to_regclass(pg_catalog.quote_ident(w.table_schema) || '.' || pg_catalog.quote_ident(w.table_name))::oid::int8, 0) as relation,
    coalesce((
      select pg_catalog.json_agg(pg_catalog.json_build_array(n.nspname, c.relname))
      from pg_catalog.pg_partition_tree(pg_catalog.to_regclass(pg_catalog.quote_ident(w.table_schema) || '.' || pg_catalog.quote_ident(w.table_name))) as part
      join pg_catalog.pg_class as c on c.oid = part.relid
      join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    ), '[]') as parts,
    extract(epoch from pg_catalog.now() - w.failing_since)::float8 as failing_s
  from headwater.webhooks as w
) as each

-- name: columns
-- Columns of a table by which filters can be decided.
select
  a.attname::text as name,
  case when c.collisdeterministic is false then '' else t.typname::text end as type,
  t.typtype = 'e' as is_enum
from pg_catalog.pg_attribute as a
join pg_catalog.pg_type as t on t.oid = a.atttypid
left join pg_catalog.pg_collation as c on c.oid = a.attcollation
where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped

-- name: publish
select realtime.publish_for_sync($1::oid)

-- name: place
select stream, seq, lsn from headwater.webhook_place

-- name: keep_place
insert into headwater.webhook_place (stream, seq, lsn) values ($1, $2, $3)
on conflict (is_only) do update set stream = excluded.stream, seq = excluded.seq, lsn = excluded.lsn

-- name: store
-- Deliveries, and up to where the stream was read for them, in one statement: either both are stored or neither. What is stored already stays.
with place as (
  insert into headwater.webhook_place (stream, seq, lsn) values ($1, $2, $3)
  on conflict (is_only) do update set stream = excluded.stream, seq = excluded.seq, lsn = excluded.lsn
)
insert into headwater.webhook_deliveries (webhook, event, type, row_key, body, occurred_at, request_id)
select webhook, event, type, row_key, body, pg_catalog.to_timestamp(at), request_id
from unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::float8[], $10::text[])
  with ordinality as new (webhook, event, type, row_key, body, at, request_id, place)
where exists (select from headwater.webhooks as w where w.id = new.webhook)
order by place
on conflict (webhook, event) do nothing

-- name: take
-- Deliveries that are due, of each webhook as many as it has room for; of an ordered webhook only the oldest of each row.
select d.id, d.webhook::text, d.event, d.body, d.attempts, extract(epoch from pg_catalog.now() - d.first_at)::float8 as age_s, d.request_id
from unnest($1::uuid[], $2::int[]) as w (id, room)
cross join lateral (
  select due.* from headwater.webhook_deliveries as due
  where due.webhook = w.id and due.state = 'waiting' and due.next_at <= pg_catalog.now() and due.id <> all ($3::int8[])
    and (due.row_key is null or not exists (
      select from headwater.webhook_deliveries as earlier
      where earlier.webhook = due.webhook and earlier.row_key = due.row_key and earlier.state = 'waiting' and earlier.id < due.id
    ))
  order by due.next_at, due.id
  limit w.room
) as d

-- name: next_due
-- Seconds until the next delivery of these webhooks that is not due yet.
select extract(epoch from least_at.next_at - pg_catalog.now())::float8
from (
  select min(first.next_at) as next_at from unnest($1::uuid[]) as w (id)
  cross join lateral (
    select d.next_at from headwater.webhook_deliveries as d
    where d.webhook = w.id and d.state = 'waiting' and d.next_at > pg_catalog.now() order by d.next_at limit 1
  ) as first
) as least_at

-- name: settle
-- Outcomes of attempts; a webhook is failing from the first attempt that failed until one succeeds.
with results as (
  select * from unnest($1::int8[], $2::text[], $3::float8[], $4::int[], $5::text[], $6::text[], $7::int[])
    as given (id, state, wait_s, status, error, answer, took_ms)
),
changed as (
  update headwater.webhook_deliveries as d
  set state = r.state, attempts = d.attempts + 1, status = r.status, error = r.error, answer = r.answer, took_ms = r.took_ms,
    next_at = pg_catalog.now() + r.wait_s * interval '1 second',
    ended_at = case when r.state <> 'waiting' then pg_catalog.now() end
  from results as r
  where d.id = r.id and d.state = 'waiting'
  returning d.webhook, r.state = 'delivered' as is_delivered
),
outcomes as (select webhook, pg_catalog.bool_or(is_delivered) as is_delivered from changed group by webhook)
update headwater.webhooks as w
set failing_since = case when o.is_delivered then null else pg_catalog.now() end
from outcomes as o
where w.id = o.webhook and o.is_delivered = (w.failing_since is not null)

-- name: followed
update headwater.webhooks set is_followed = true where id = any ($1::uuid[])

-- name: pause
update headwater.webhooks set pause_reason = $2, paused_at = pg_catalog.now() where id = $1::uuid and pause_reason is null

-- name: gap
-- Events were not stored: for these webhooks.
update headwater.webhooks set gap_at = pg_catalog.now(), gap_reason = $2 where id = any ($1::uuid[])

-- name: measure
-- Webhooks that have too many waiting deliveries, or no longer: both are noted in their rows.
with depth as (
  select w.id, (
    select pg_catalog.count(*) from (
      select from headwater.webhook_deliveries as d where d.webhook = w.id and d.state = 'waiting' limit $1::int8
    ) as counted
  ) as waiting
  from headwater.webhooks as w
)
update headwater.webhooks as w
set is_full = d.waiting >= $1::int8,
  gap_at = case when d.waiting >= $1::int8 then pg_catalog.now() else w.gap_at end,
  gap_reason = case when d.waiting >= $1::int8 then 'more than ' || $1::int8 || ' deliveries wait' else w.gap_reason end
from depth as d
where d.id = w.id and (case when w.is_full then d.waiting < $1::int8 * 9 / 10 else d.waiting >= $1::int8 end)
returning w.name, w.is_full

-- name: sweep
delete from headwater.webhook_deliveries where id in (
  select id from headwater.webhook_deliveries
  where state <> 'waiting' and ended_at < pg_catalog.now() - $1::float8 * interval '1 second' order by ended_at limit 5000
)
returning 1

-- name: switch_causes
-- Tables whose trigger could not be switched, because they are locked.
select headwater.switch_webhook_causes()

-- name: switch_triggers
select headwater.switch_storage_webhooks(), headwater.switch_auth_webhooks()
