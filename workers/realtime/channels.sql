-- Probes of private channels: rows that never stay. See channels.py for the order and the roles.

-- name: probe_read
-- The rows whose being seen means that a channel may be read: $1 id and $2 topic of the one for broadcasts.
insert into realtime.messages (id, topic, extension) values ($1, $2, 'broadcast')

-- name: probe_read_both
-- The same, with $3 as the id of the one for presence.
insert into realtime.messages (id, topic, extension) values ($1, $2, 'broadcast'), ($3, $2, 'presence')

-- name: seen
-- The extensions of the probes ($1, a JSON array of ids) that the caller sees.
select message.extension from realtime.messages as message
where message.id in (select probe::uuid from pg_catalog.jsonb_array_elements_text($1) as probe)
  and message.inserted_at >= pg_catalog.now()::timestamp

-- name: replay
-- The last $3 stored broadcasts of the private topic $1 since $2 milliseconds, oldest first.
select message.id, message.event, coalesce(message.payload::text, pg_catalog.encode(message.binary_payload, 'hex')),
  message.payload is null
from (
  select id, event, payload, binary_payload, inserted_at from realtime.messages
  where topic = $1 and private and extension = 'broadcast' and event is not null
    and (payload is not null or binary_payload is not null)
    and inserted_at >= pg_catalog.to_timestamp($2::float8 / 1000) at time zone 'utc'
  order by inserted_at desc, id desc
  limit $3
) as message
order by message.inserted_at, message.id

-- name: probe_write
-- The row that a caller may insert who may send to the topic $1 by the extension $2.
insert into realtime.messages (topic, extension) values ($1, $2)
