-- The sweep (sweep.py), as the login role, which owns the tables.

-- name: buried
-- A batch of versions that ended so many seconds ago; what another worker has in hand is skipped. Nothing while a backup
-- copies the bytes (workers/backup/save.py holds that lock).
select json_build_object(
  'id', id, 'bucket_id', bucket_id, 'version', version,
  'is_named', exists (
    select from storage.objects
    where objects.version = tombstones.version and objects.bucket_id = tombstones.bucket_id
  )
)
from storage.tombstones
where created_at < now() - make_interval(secs => $1::float8)
  and (select pg_try_advisory_xact_lock_shared(hashtextextended('headwater backup', 0)))
order by id
limit $2::bigint
for update skip locked

-- name: forget
delete from storage.tombstones where id = any (array(select jsonb_array_elements_text($1::jsonb)::bigint))

-- name: named
-- Which of these versions do rows name, or may yet: those of uploads that are under way, and those that are still to be swept.
select coalesce(json_agg(distinct version), '[]')
from (
  select version from storage.objects
  union all select version from storage.tus_uploads
  union all select version from storage.s3_multipart_uploads
  union all select version from storage.tombstones
) known
where version = any (array(select jsonb_array_elements_text($1::jsonb)))

-- name: under_way
-- Which of these uploads are under way. Objects do not count: what an upload has become needs its parts no more.
select coalesce(json_agg(distinct id), '[]')
from (
  select version as id from storage.tus_uploads
  union all select id from storage.s3_multipart_uploads
) known
where id = any (array(select jsonb_array_elements_text($1::jsonb)))

-- name: take_turn
-- One worker looks for orphans at a time, and nobody while a backup copies the bytes or a restore writes some that no row names
-- yet (workers/backup holds that lock).
select pg_try_advisory_xact_lock(hashtextextended('headwater storage orphans', 0))
  and pg_try_advisory_xact_lock_shared(hashtextextended('headwater backup', 0))

-- name: take_renditions
-- One worker looks through what was made of objects at a time.
select pg_try_advisory_xact_lock(hashtextextended('headwater storage renditions', 0))
