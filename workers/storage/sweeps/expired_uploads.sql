-- Multipart uploads that were not finished in time (expired_uploads.py), run as the login role, which owns their tables.

-- name: expired
-- A batch of uploads whose last part (or start) is longer ago than their `expiresIn`, a week if they have none.
select id from storage.s3_multipart_uploads
where greatest(
    created_at,
    (select max(created_at) from storage.s3_multipart_uploads_parts where upload_id = s3_multipart_uploads.id)
  ) + make_interval(secs => case
    when metadata ->> 'expiresIn' ~ '^[0-9]{1,10}$' then (metadata ->> 'expiresIn')::float8 else 604800
  end) <= now()
  and id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
order by created_at
limit $1::bigint
for update skip locked

-- name: abort
-- The rows of their parts are deleted by cascade.
delete from storage.s3_multipart_uploads where id = any (array(select jsonb_array_elements_text($1::jsonb)))
