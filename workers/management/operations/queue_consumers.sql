-- Functions that consume queues (queue_consumers.py), as the pool's login. The table: platform/0031_queue_consumers.sql.

-- name: consumers
select pg_catalog.json_build_object(
  'function', function, 'queue', queue, 'dead_letter', dead_letter, 'wanted', wanted, 'problem', problem,
  'messages', messages, 'visible', visible, 'oldest_s', oldest_s, 'underway', underway, 'done', done, 'failed', failed,
  'set_aside', set_aside, 'done_per_s', done_per_s, 'failed_per_s', failed_per_s, 'last_error', last_error,
  'last_error_at', extract(epoch from last_error_at)::float8, 'measured_at', extract(epoch from measured_at)::float8)
from headwater.queue_consumers
where $1::text = '' or pg_catalog.lower(queue) = pg_catalog.lower($1::text)
order by queue, function

-- name: want
update headwater.queue_consumers set wanted = $2::text where pg_catalog.lower(queue) = pg_catalog.lower($1::text)

-- name: notify
select pg_catalog.pg_notify('headwater_queues', '')
