-- Requests of SQL (net_requests.py), as the scheduler's login.

-- name: take
-- Claim requests by deleting them from the queue, so each is sent once.
delete from net.http_request_queue
where id in (
  select id from net.http_request_queue order by id limit $1 for update skip locked
)
returning id, method, url, headers, body, timeout_milliseconds

-- name: answered
insert into net._http_response (id, status_code, content_type, headers, content, timed_out, error_msg)
select id, status_code, content_type, headers, content, timed_out, error_msg
from jsonb_to_recordset($1::jsonb) as answers (
  id bigint, status_code integer, content_type text, headers jsonb, content text, timed_out boolean, error_msg text
)

-- name: sweep
-- Delete old responses; return whether younger ones are left.
with dropped as (
  delete from net._http_response where created < clock_timestamp() - make_interval(secs => $1)
)
select exists (select from net._http_response where created >= clock_timestamp() - make_interval(secs => $1))
