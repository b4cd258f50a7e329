-- The audit log (audit.py). All run as supabase_auth_admin.

-- name: insert
-- clock_timestamp() orders the entries of one transaction.
insert into auth.audit_log_entries (instance_id, id, payload, created_at, ip_address)
values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), $1::json, clock_timestamp(), $2)

-- name: page
-- Search the field $3 (author, action or type) for the text $4; an empty field selects all.
select row_to_json(shown) from (
  select id, payload, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at, ip_address
  from auth.audit_log_entries
  where case $3
    when 'author' then strpos(lower(payload ->> 'actor_username'), lower($4)) > 0 or strpos(lower(payload ->> 'actor_name'), lower($4)) > 0
    when 'action' then strpos(payload ->> 'action', lower($4)) > 0
    when 'type' then strpos(payload ->> 'log_type', lower($4)) > 0
    else true
  end
  order by audit_log_entries.created_at desc, id
  limit $1::int offset $2::bigint
) shown

-- name: count
select count(*) from auth.audit_log_entries
where case $1
  when 'author' then strpos(lower(payload ->> 'actor_username'), lower($2)) > 0 or strpos(lower(payload ->> 'actor_name'), lower($2)) > 0
  when 'action' then strpos(payload ->> 'action', lower($2)) > 0
  when 'type' then strpos(payload ->> 'log_type', lower($2)) > 0
  else true
end
