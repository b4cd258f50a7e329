-- Saved views of the table editor; statements of the login headwater_management.

-- name: list
-- Views of a table: the administrator's and the shared ones.
select pg_catalog.json_build_object('name', name, 'is_shared', administrator_id is null, 'content', content)
from headwater.administrator_views
where table_schema = $2 and table_name = $3 and (administrator_id is null or administrator_id = $1::pg_catalog.uuid)
order by administrator_id is null, name

-- name: lock
-- Views of one owner are counted by one transaction at a time.
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('headwater.administrator_views ' || coalesce($1::pg_catalog.text, ''), 0))

-- name: save
-- Returns no row if the owner has as many views, of the table or of all, as are allowed, and none of this name.
insert into headwater.administrator_views (administrator_id, table_schema, table_name, name, content)
select $1::pg_catalog.uuid, $2, $3, $4, $5
where (
  select pg_catalog.count(*) from headwater.administrator_views
  where administrator_id is not distinct from $1::pg_catalog.uuid and table_schema = $2 and table_name = $3 and name <> $4
) < $6::pg_catalog.int8 and (
  select pg_catalog.count(*) from headwater.administrator_views
  where administrator_id is not distinct from $1::pg_catalog.uuid and (table_schema, table_name, name) <> ($2, $3, $4)
) < $7::pg_catalog.int8
on conflict (administrator_id, table_schema, table_name, name)
do update set content = excluded.content, changed_at = pg_catalog.now()
returning pg_catalog.json_build_object('name', name, 'is_shared', administrator_id is null, 'content', content)

-- name: remove
delete from headwater.administrator_views
where administrator_id is not distinct from $1::pg_catalog.uuid and table_schema = $2 and table_name = $3 and name = $4
returning pg_catalog.json_build_object('name', name, 'is_shared', administrator_id is null, 'content', content)
