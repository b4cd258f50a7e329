-- Requests whose SQL session waits for the answer (http_requests.py), as the scheduler's login.

-- name: take
-- Claim requests by deleting them from the queue; the waiting session removes those that have timed out.
delete from headwater.http_queue
where id in (
  select id
  from headwater.http_queue
  where deadline > clock_timestamp()
  order by deadline
  limit $1
  for update skip locked
)
returning id, method, url, headers::text, body, redirects, extract(epoch from deadline - clock_timestamp())::float8

-- name: answered
insert into headwater.http_answers (id, status, content_type, headers, body, error, is_timeout)
values ($1, $2, $3, $4::jsonb, $5, $6, $7)
