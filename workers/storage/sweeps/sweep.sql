-- The sweep (sweep.py), as the login role, which owns the tables.

-- name: buried
-- A batch of versions that were replaced $1 seconds ago; rows that another worker has locked are skipped. Empty while a backup
-- copies the bytes (workers/backup/save.py holds that lock).
select json_build_object('id', id, 'bucket_id', bucket_id, 'version', version)
from storage.tombstones
where created_at < now() - make_interval(secs => $1::float8)
  and (select pg_try_advisory_xact_lock_shared(hashtextextended('headwater backup', 0)))
order by id
limit $2::bigint
for update skip locked

-- name: named_objects
-- Which of the versions $1 (in all their spellings) rows of objects name, each as [bucket, version].
select coalesce(json_agg(distinct jsonb_build_array(bucket_id, version)), '[]')
from storage.objects
where version = any (array(select jsonb_array_elements_text($1::jsonb))) and bucket_id is not null

-- name: forget
delete from storage.tombstones where id = any (array(select jsonb_array_elements_text($1::jsonb)::bigint))

-- name: named
-- Which of the versions $1 (in all their spellings) rows name or may name: objects, uploads in progress, and tombstones still to be swept.
select coalesce(json_agg(distinct version), '[]')
from (
  select version from storage.objects
  union all select version from storage.tus_uploads
  union all select version from storage.s3_multipart_uploads
  union all select version from storage.tombstones
) known
where version = any (array(select jsonb_array_elements_text($1::jsonb)))

-- name: under_way
-- The uploads in progress. Objects do not count: a completed upload does not need its parts.
select coalesce(json_agg(distinct id), '[]')
from (
  select version as id from storage.tus_uploads
  union all select id from storage.s3_multipart_uploads
) known
where id = any (array(select jsonb_array_elements_text($1::jsonb)))

-- name: take_turn
-- Locks: one worker at a time searches orphans, and no worker while a backup copies blobs or a restore writes blobs without rows
-- (workers/backup holds that lock).
select pg_try_advisory_xact_lock(hashtextextended('headwater storage orphans', 0))
  and pg_try_advisory_xact_lock_shared(hashtextextended('headwater backup', 0))

-- name: take_renditions
-- A lock lets one worker at a time sweep the renditions.
select pg_try_advisory_xact_lock(hashtextextended('headwater storage renditions', 0))
