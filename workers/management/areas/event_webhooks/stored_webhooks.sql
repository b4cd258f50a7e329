-- Statements of operations on webhooks of the platform, as the pool's login.

-- name: list
select pg_catalog.row_to_json(each)
from (
  select
    w.id, w.name, w.source, w.events, w.table_schema as schema, w.table_name as "table", w.filters, w.columns, w.with_old, w.is_ordered,
    w.bucket, w.sealed, w.pause_reason, w.is_full,
    pg_catalog.date_part('epoch', w.created_at) as created_at,
    pg_catalog.date_part('epoch', w.failing_since) as failing_since,
    pg_catalog.date_part('epoch', w.gap_at) as gap_at, w.gap_reason,
    w.source <> 'rows' or pg_catalog.to_regclass(pg_catalog.quote_ident(w.table_schema) || '.' || pg_catalog.quote_ident(w.table_name)) is not null
      as has_table,
    (select pg_catalog.count(*) from (
      select from headwater.webhook_deliveries as d where d.webhook = w.id and d.state = 'waiting' limit 100001) as counted) as waiting,
    (select pg_catalog.count(*) from (
      select from headwater.webhook_deliveries as d where d.webhook = w.id and d.state = 'failed' limit 100001) as counted) as failed
  from headwater.webhooks as w
  where $1 = '' or w.name = $1
  order by w.name
) as each

-- name: table
-- A table by its names, with the columns by which filters can be decided; 0 where there is none.
select pg_catalog.json_build_object(
  'relation', coalesce(c.oid::int8, 0),
  'identity', coalesce(c.relreplident::text, ''),
  'columns', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object(
      'name', a.attname, 'type', case when l.collisdeterministic is false then '' else t.typname::text end, 'is_enum', t.typtype = 'e'))
    from pg_catalog.pg_attribute as a
    join pg_catalog.pg_type as t on t.oid = a.atttypid
    left join pg_catalog.pg_collation as l on l.oid = a.attcollation
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ), '[]'))
from (select pg_catalog.to_regclass(pg_catalog.format('%I.%I', $1::text, $2::text))::oid as oid) as asked
left join pg_catalog.pg_class as c on c.oid = asked.oid

-- name: publish
select pg_catalog.json_build_object('reason', realtime.publish_for_sync($1::oid))

-- name: writers
select pg_catalog.to_json(writer) from realtime.writers_of(array[$1::oid]) as writer

-- name: add
insert into headwater.webhooks (
  id, name, source, events, table_schema, table_name, filters, columns, with_old, is_ordered, bucket, sealed
)
select
  $1::uuid, $2, $3, array(select pg_catalog.json_array_elements_text($4::json)), $5, $6,
  array(select pg_catalog.json_array_elements_text($7::json)),
  case when $8::json is not null then array(select pg_catalog.json_array_elements_text($8::json)) end,
  $9::boolean, $10::boolean, $11, $12

-- name: switch_triggers
select headwater.switch_storage_webhooks(), headwater.switch_auth_webhooks()

-- name: notify
select pg_catalog.pg_notify('headwater_webhooks', '')

-- name: store_target
update headwater.webhooks set sealed = $3 where id = $1::uuid and sealed = $2 returning pg_catalog.to_json(id)

-- name: pause
update headwater.webhooks
set pause_reason = $2, paused_at = case when $2::text is not null then pg_catalog.now() end,
  failing_since = null, gap_at = case when $2::text is null then null else gap_at end, gap_reason = case when $2::text is null then null else gap_reason end
where id = $1::uuid returning pg_catalog.to_json(id)

-- name: hasten
-- What waits for a paused or failing receiver is sent at once when the webhook is resumed, and counts from now.
update headwater.webhook_deliveries set next_at = pg_catalog.now(), first_at = pg_catalog.now(), attempts = 0
where webhook = $1::uuid and state = 'waiting' and attempts > 0

-- name: remove
delete from headwater.webhooks where id = $1::uuid returning pg_catalog.to_json(id)

-- name: deliveries
select pg_catalog.row_to_json(each)
from (
  select
    d.id, w.name as webhook, d.event, d.type, d.state, d.attempts, d.status, d.error, d.answer, d.took_ms, d.body,
    pg_catalog.date_part('epoch', d.occurred_at) as occurred_at,
    case when d.state = 'waiting' then pg_catalog.date_part('epoch', d.next_at) end as next_at,
    pg_catalog.date_part('epoch', d.ended_at) as ended_at
  from headwater.webhook_deliveries as d join headwater.webhooks as w on w.id = d.webhook
  where ($1 = '' or w.name = $1) and ($2 = '' or d.state = $2) and ($3::int8 is null or d.id < $3::int8)
  order by d.id desc limit $4::int8
) as each

-- name: resend
-- Deliveries that have ended, by their numbers or from a moment on, are sent again with their ids.
with chosen as (
  update headwater.webhook_deliveries
  set state = 'waiting', attempts = 0, first_at = pg_catalog.now(), next_at = pg_catalog.now(), ended_at = null
  where webhook = $1::uuid and state <> 'waiting'
    and ($2::json is null or id in (select value::int8 from pg_catalog.json_array_elements_text($2::json) as given (value)))
    and ($3::float8 is null or occurred_at >= pg_catalog.to_timestamp($3::float8))
    and (not $4::boolean or state = 'failed')
  returning 1
)
select pg_catalog.json_build_object('count', (select pg_catalog.count(*) from chosen))

-- name: test
insert into headwater.webhook_deliveries (webhook, event, type, body, occurred_at)
values ($1::uuid, $2, 'test', $3, pg_catalog.now()) returning pg_catalog.to_json(id)

-- name: outcome
select pg_catalog.json_build_object('attempts', attempts, 'state', state, 'status', status, 'error', error, 'answer', answer, 'took_ms', took_ms)
from headwater.webhook_deliveries where id = $1::int8

-- name: drop_test
delete from headwater.webhook_deliveries where id = $1::int8
